package movies.http;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An answer: a value that is sent as JSON, and headers. */
record Answer(int status, JsonElement value, Map<String, String> headers) {
    /** No browser runs or shows an answer as a page. */
    private static final Map<String, String> SAFETY = Map.of(
            "Content-Type", "application/json",
            "Cache-Control", "no-store",
            "X-Content-Type-Options", "nosniff",
            "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");

    static Answer of(JsonElement value) {
        return new Answer(200, value, Map.of());
    }

    /** Without these parts, by the names of their services. */
    static Answer degraded(JsonElement value, List<String> missing) {
        return new Answer(200, value, missing.isEmpty() ? Map.of() : Map.of("X-Degraded", String.join(",", missing)));
    }

    /** With the token in the cookie, which no script can read. */
    static Answer login(JsonElement value, String token, long seconds) {
        String cookie = Asked.COOKIE + "=" + token + "; Path=/; Max-Age=" + seconds + "; HttpOnly; SameSite=Strict";
        return new Answer(200, value, Map.of("Set-Cookie", cookie));
    }

    static Answer problem(Problem problem) {
        JsonObject error = new JsonObject();
        error.addProperty("code", problem.name);
        error.addProperty("what", problem.getMessage());
        JsonObject value = new JsonObject();
        value.add("error", error);
        return new Answer(problem.status, value, problem.headers);
    }

    /** All of its headers. */
    Map<String, String> allHeaders() {
        Map<String, String> all = new LinkedHashMap<>(SAFETY);
        all.putAll(headers);
        return all;
    }
}
