package movies.http;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import movies.handlers.Tokens;
import movies.idl.Code;
import movies.idl.Refused;

/** A request's parameters. Every returned value has its type and is within its limits. */
final class Asked {
    static final String COOKIE = "token";
    /** Source: the HTTP interface. Units: bytes. */
    static final int LONGEST_BODY = 64 * 1024;
    /** A site of another origin cannot send this header without being allowed to. */
    private static final String OWN = "movies";
    private static final Pattern BEARER = Pattern.compile("Bearer +([!-~]+)", Pattern.CASE_INSENSITIVE);
    private static final Pattern WHOLE = Pattern.compile("0|-?[1-9][0-9]{0,18}");

    final String method;
    final String path;
    private final Map<String, String> query;
    private final UnaryOperator<String> headers;
    private final Map<String, String> cookies;
    private final byte[] body;
    private JsonObject fields;

    /** `query`: as it came, or null. `headers`: the value of a name, or null. */
    Asked(String method, String path, String query, UnaryOperator<String> headers, Map<String, String> cookies, byte[] body) {
        this.method = method;
        this.path = path;
        this.query = parameters(query);
        this.headers = headers;
        this.cookies = cookies;
        this.body = body;
    }

    /** Of several of one name the last counts. */
    private static Map<String, String> parameters(String query) {
        Map<String, String> parameters = new HashMap<>();
        for (String pair : query == null ? new String[0] : query.split("&")) {
            String[] parts = pair.split("=", 2);
            parameters.put(decode(parts[0]), parts.length > 1 ? decode(parts[1]) : "");
        }
        return parameters;
    }

    private static String decode(String text) {
        try {
            return URLDecoder.decode(text, StandardCharsets.UTF_8);
        } catch (IllegalArgumentException notEncoded) {
            return text;
        }
    }

    String queryText(String name, int most) throws Problem {
        return limited(name, query.getOrDefault(name, ""), 0, most, Code.BAD_REQUEST);
    }

    int queryNumber(String name, int otherwise, int least, int most) throws Problem {
        String given = query.get(name);
        return given == null ? otherwise : (int) number(name, given, least, most);
    }

    /** A list such as `1,2,3`; `most` of them. */
    List<Long> queryNumbers(String name, int most) throws Problem {
        String[] given = query.getOrDefault(name, "").split(",", -1);
        if (given.length > most) {
            throw Problem.badRequest("`" + name + "` has " + given.length + " numbers, and takes " + most);
        }
        List<Long> numbers = new ArrayList<>(given.length);
        for (String one : given) {
            numbers.add(number(name, one, 1, Long.MAX_VALUE));
        }
        return numbers;
    }

    String fieldText(String name, int least, int most) throws Problem {
        return fieldText(name, least, most, Code.BAD_REQUEST);
    }

    /** A text of the body. Units of its limits: bytes. `tooLong`: the error for a longer text. */
    String fieldText(String name, int least, int most, Code tooLong) throws Problem {
        if (field(name) instanceof JsonPrimitive value && value.isString()) {
            return limited(name, value.getAsString(), least, most, tooLong);
        }
        throw Problem.badRequest("`" + name + "` is no text");
    }

    long fieldNumber(String name, long least, long most) throws Problem {
        String given = field(name) instanceof JsonPrimitive value && value.isNumber() ? value.getAsString() : "";
        return number(name, given, least, most);
    }

    private JsonElement field(String name) throws Problem {
        if (fields == null) {
            if (body.length > LONGEST_BODY) {
                throw Problem.badRequest("the body has more than " + LONGEST_BODY + " bytes");
            }
            fields = Json.parse(body);
        }
        JsonElement value = fields.get(name);
        if (value == null || value.isJsonNull()) {
            throw Problem.badRequest("the body has no `" + name + "`");
        }
        return value;
    }

    /**
     * The token from `Authorization: Bearer TOKEN`, or else from the cookie; empty if absent.
     *
     * <p>Errors: it came in the cookie, which a browser also sends for other sites, with a request that changes data and
     * does not prove that it is from this site.
     */
    String token() throws Problem {
        String bearer = bearer();
        if (bearer != null) {
            return bearer;
        }
        String cookie = cookies.getOrDefault(COOKIE, "");
        if (!cookie.isEmpty() && !method.equals("GET") && !OWN.equals(headers.apply("X-Requested-With"))) {
            throw unauthorized("a request with the cookie takes the header X-Requested-With: " + OWN);
        }
        return cookie;
    }

    /** The address that the request comes from, by the web server in front. */
    String source() {
        String given = headers.apply("X-Real-IP");
        return given == null ? "" : given;
    }

    /**
     * Errors: a browser says that the request comes from a page of another site, which could log a visitor in as someone else. Programs
     * say nothing.
     */
    void checkOrigin() throws Problem {
        String from = headers.apply("Origin");
        String page = from != null && !from.isEmpty() ? from : headers.apply("Referer");
        String host = headers.apply("Host");
        if (page != null && !page.isEmpty() && !authority(page).equalsIgnoreCase(host == null ? "" : host)) {
            throw new Problem(403, "FORBIDDEN", "a login comes from a page of this site, and not from another one");
        }
    }

    /** Host and port of an address; of what is none, what no host is called. */
    private static String authority(String address) {
        try {
            URI parts = new URI(address);
            return parts.getHost() == null ? "?" : parts.getHost() + (parts.getPort() < 0 ? "" : ":" + parts.getPort());
        } catch (URISyntaxException none) {
            return "?";
        }
    }

    /** The user whom a page is for; 0 for a visitor, and for one whose cookie has expired. */
    long user(Tokens tokens) throws Problem, Refused {
        String token = token();
        if (token.isEmpty()) {
            return 0;
        }
        try {
            return tokens.user(token);
        } catch (Refused refused) {
            if (bearer() != null) {
                throw refused;
            }
            return 0;
        }
    }

    /** The token of a user who must be there. */
    String userToken(Tokens tokens) throws Problem, Refused {
        String token = token();
        if (token.isEmpty()) {
            throw unauthorized("this takes a token; log in first");
        }
        tokens.user(token);
        return token;
    }

    private String bearer() {
        String given = headers.apply("Authorization");
        Matcher found = BEARER.matcher(given == null ? "" : given);
        return found.matches() ? found.group(1) : null;
    }

    private static Problem unauthorized(String what) {
        return new Problem(Code.UNAUTHORIZED.getValue(), Code.UNAUTHORIZED.name(), what);
    }

    private static String limited(String name, String given, int least, int most, Code tooLong) throws Problem {
        int size = given.getBytes(StandardCharsets.UTF_8).length;
        if (size < least || size > most) {
            Code code = size > most ? tooLong : Code.BAD_REQUEST;
            throw new Problem(code.getValue(), code.name(), "`" + name + "` has " + size + " bytes, and takes " + least + " to " + most);
        }
        return given;
    }

    private static long number(String name, String given, long least, long most) throws Problem {
        try {
            long number = WHOLE.matcher(given).matches() ? Long.parseLong(given) : Long.MIN_VALUE;
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException tooLarge) {
            // Reported below.
        }
        throw Problem.badRequest("`" + name + "` takes a whole number from " + least + " to " + most);
    }
}
