package movies.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import movies.handlers.Tokens;
import movies.idl.Code;
import movies.idl.Hit;
import movies.idl.Hits;
import movies.idl.Refused;
import movies.idl.Token;
import org.apache.thrift.TException;
import org.junit.jupiter.api.Test;

final class AskedTest {
    private static final Tokens TOKENS = new Tokens("00".repeat(32));

    private static Asked query(String query) {
        return new Asked("GET", "/", query, name -> null, Map.of(), new byte[0]);
    }

    private static Asked body(String body) {
        return new Asked("POST", "/", null, name -> null, Map.of(), body.getBytes(StandardCharsets.UTF_8));
    }

    private static Asked with(String method, Map<String, String> headers, Map<String, String> cookies) {
        return new Asked(method, "/", null, headers::get, cookies, new byte[0]);
    }

    private static void refuses(int status, Work work) {
        assertEquals(status, assertThrows(Problem.class, work::run).status);
    }

    private interface Work {
        Object run() throws TException;
    }

    @Test
    void queriesAreOfTheirTypeAndWithinTheirLimits() throws TException {
        assertEquals(7, query("n=7").queryNumber("n", 1, 0, 10));
        assertEquals(1, query("m=7").queryNumber("n", 1, 0, 10));
        assertEquals(8, query("n=7&n=8").queryNumber("n", 1, 0, 10), "the last counts");
        for (String given : List.of("n=11", "n=-1", "n=", "n", "n=07", "n=+7", "n=1.0", "n=99999999999999999999", "n=-0", "n=%207")) {
            refuses(400, () -> query(given).queryNumber("n", 1, 0, 10));
        }
        assertEquals("a b&c=é", query("q=a+b%26c%3D%C3%A9").queryText("q", 10));
        assertEquals("%zz", query("q=%zz").queryText("q", 10));
        assertEquals("", query(null).queryText("q", 10));
        refuses(400, () -> query("q=" + "x".repeat(11)).queryText("q", 10));
        assertEquals(List.of(2L, 1L), query("ids=2,1").queryNumbers("ids", 2));
        for (String given : List.of("ids=", "ids=1,", "ids=0", "ids=1,2,3", "x=1")) {
            refuses(400, () -> query(given).queryNumbers("ids", 2));
        }
    }

    @Test
    void bodiesAreObjectsOfJson() throws TException {
        assertEquals("é", body("{\"a\": \"\\u00e9\"}").fieldText("a", 1, 2));
        assertEquals(9, body("{\"a\": 9} ").fieldNumber("a", 1, 10));
        for (String given : List.of("", "{", "[]", "null", "1", "{\"a\": 9} x", "{'a': 9}", "{a: 9}", "[".repeat(60_000), "{\"b\": 9}", "{\"a\": null}")) {
            refuses(400, () -> body(given).fieldNumber("a", 1, 10));
        }
        for (String given : List.of("9.0", "9e0", "\"9\"", "true", "11", "-1", "99999999999999999999", "[9]", "{}")) {
            refuses(400, () -> body("{\"a\": " + given + "}").fieldNumber("a", 0, 10));
        }
        refuses(413, () -> body("{\"a\": \"xxx\"}").fieldText("a", 1, 2, Code.TOO_LARGE));
        refuses(400, () -> body("{\"a\": \"\"}").fieldText("a", 1, 2, Code.TOO_LARGE));
        refuses(400, () -> body("{\"a\": 1}" + " ".repeat(Asked.LONGEST_BODY)).fieldNumber("a", 1, 2));
        Asked notUtf8 = new Asked("POST", "/", null, name -> null, Map.of(), new byte[] {'{', (byte) 0xff, '}'});
        refuses(400, () -> notUtf8.fieldNumber("a", 1, 2));
    }

    @Test
    void tokensComeAsBearerOrInTheCookie() throws TException {
        String token = TOKENS.make(7, Long.MAX_VALUE / 2);
        String old = TOKENS.make(7, 1);
        Map<String, String> bearer = Map.of("Authorization", "bearer  " + token);
        assertEquals(7, with("GET", bearer, Map.of("token", old)).user(TOKENS));
        assertEquals(7, with("GET", Map.of(), Map.of("token", token)).user(TOKENS));
        assertEquals(0, with("GET", Map.of(), Map.of("token", old)).user(TOKENS), "a cookie that has expired is a visitor's");
        assertEquals(0, with("GET", Map.of("Authorization", "Basic eDp5"), Map.of()).user(TOKENS));
        assertThrows(Refused.class, () -> with("GET", Map.of("Authorization", "Bearer " + old), Map.of()).user(TOKENS));
        assertEquals(token, with("POST", bearer, Map.of()).userToken(TOKENS));
        assertEquals(token, with("POST", Map.of("X-Requested-With", "movies"), Map.of("token", token)).userToken(TOKENS));
        refuses(401, () -> with("POST", Map.of(), Map.of("token", token)).userToken(TOKENS));
        refuses(401, () -> with("POST", Map.of("X-Requested-With", "x"), Map.of("token", token)).userToken(TOKENS));
        refuses(401, () -> with("POST", Map.of(), Map.of()).userToken(TOKENS));
    }

    @Test
    void valuesAreWrittenByTheNamesOfTheirFields() {
        Hits hits = new Hits(List.of(new Hit(1, "</a> \"é\"", 1979, 0.5)), 1);
        String expected = "{\"hits\":[{\"movie\":1,\"title\":\"</a> \\\"é\\\"\",\"year\":1979,\"weight\":0.5}],\"all\":1}";
        assertEquals(expected, new String(Json.encode(Json.of(hits)), StandardCharsets.UTF_8));
        assertEquals("{\"token\":null,\"user\":0,\"expires_s\":0}".replace(":0", ":null"), Json.of(new Token()).toString());
        assertEquals("\"AP8=\"", Json.of(ByteBuffer.wrap(new byte[] {0, (byte) 0xff})).toString());
        assertEquals("[true,null]", Json.of(java.util.Arrays.asList(true, null)).toString());
    }

    @Test
    void addressesHaveTheirRoutes() throws TException {
        Routes routes = new Routes(new Api(null, null, null, 0));
        Routes.Found found = routes.find("GET", "/api/movie/12");
        assertEquals("page 12", found.route().name() + " " + found.number());
        for (String path : List.of("/api/movie/0", "/api/movie/012", "/api/movie/1/", "/api/movie/", "/api/", "/", "/api/xready", "/api/movie/1234567890123456789")) {
            refuses(404, () -> routes.find("GET", path));
        }
        refuses(405, () -> routes.find("GET", "/api/rent"));
        assertEquals("logout", routes.find("POST", "/api/logout").route().name());
    }
}
