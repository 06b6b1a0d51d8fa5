package movies.chassis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class PartsTest {
    private static final String CONFIG = """
            service=plot
            id=6
            instance=0
            listen=127.0.0.1:34567
            threads=8
            queue=64
            # A comment.
            spans=
            secret=
            data=
            upstream.videos=127.0.0.1:1, 127.0.0.1:2
            upstream.ads=127.0.0.1:3
            optional=ads
            call.ads.deadline_ms=20
            """;

    private static JsonObject vectors() throws IOException {
        Path file = Path.of(System.getProperty("movies.contract"), "vectors.json");
        return JsonParser.parseString(Files.readString(file)).getAsJsonObject();
    }

    @Test
    void keysHaveTheShardsOfTheVectors() throws IOException {
        for (JsonElement one : vectors().getAsJsonArray("fnv1a64")) {
            byte[] key = HexFormat.of().parseHex(one.getAsJsonObject().get("key_hex").getAsString());
            long hash = Long.parseUnsignedLong(one.getAsJsonObject().get("hash").getAsString());
            assertEquals(hash, Jump.fnv(key));
            check(one, hash);
        }
        for (JsonElement one : vectors().getAsJsonArray("jump")) {
            check(one, Long.parseUnsignedLong(one.getAsJsonObject().get("key").getAsString()));
        }
    }

    private static void check(JsonElement one, long hash) {
        for (Map.Entry<String, JsonElement> shard : one.getAsJsonObject().getAsJsonObject("shards").entrySet()) {
            assertEquals(shard.getValue().getAsInt(), Jump.shard(hash, Integer.parseInt(shard.getKey())), one.toString());
        }
    }

    @Test
    void addressesAreSignedAsNginxDoes() throws IOException {
        JsonObject signed = vectors().getAsJsonObject("signed");
        SignedAddress addresses = new SignedAddress(signed.get("secret").getAsString());
        for (JsonElement each : signed.getAsJsonArray("addresses")) {
            JsonObject one = each.getAsJsonObject();
            String address = addresses.of(one.get("user").getAsLong(), one.get("expires_s").getAsLong(), one.get("clip").getAsString());
            assertEquals(one.get("address").getAsString(), address);
        }
    }

    @Test
    void tracesComeBackAndOthersAreNone() throws IOException {
        JsonObject traces = vectors().getAsJsonObject("traceparent");
        for (JsonElement one : traces.getAsJsonArray("good")) {
            String text = one.getAsJsonObject().get("text").getAsString();
            assertEquals(text, Trace.parse(text).toString());
            assertEquals(one.getAsJsonObject().get("sampled").getAsBoolean(), Trace.parse(text).sampled());
        }
        for (JsonElement one : traces.getAsJsonArray("bad")) {
            assertNull(Trace.parse(one.getAsString()), one.getAsString());
        }
    }

    @Test
    void spansHaveTheirLayout() {
        Span span = new Span(Span.Kind.STORE);
        span.peer = 0x0102;
        span.method = 3;
        span.outcome = Outcome.DEADLINE;
        span.flags = Span.RETRIED;
        span.trace = new Trace(0x0011223344556677L, 0x8899aabbccddeeffL, 1, true);
        span.span = 0x1122334455667788L;
        span.parent = 5;
        span.stamps[0] = 10;
        span.stamps[3] = 30;
        span.processorNs = 7;
        span.bytesIn = 0xffffffffL;
        span.bytesOut = 9;
        span.fill();
        ByteBuffer out = ByteBuffer.allocate(Span.SIZE).order(ByteOrder.LITTLE_ENDIAN);
        span.appendTo(out, 25, 2);
        assertFalse(out.hasRemaining());
        String expected = "5350 4e31 1900 0200 0201 0300 02 03 0100 00112233445566778899aabbccddeeff 8877665544332211 0500000000000000"
                + "0a00000000000000 0a00000000000000 0a00000000000000 1e00000000000000 1e00000000000000 1e00000000000000"
                + "0700000000000000 ffffffff 09000000 00000000000000000000000000000000";
        assertEquals(expected.replace(" ", ""), HexFormat.of().formatHex(out.array()));
        ByteBuffer head = Span.head(25, 2, "0123456789abcdef0123456789abcdef0123", 77, 88);
        assertEquals(0x31485053, head.getInt(0));
        assertEquals(1, head.getShort(4));
        assertEquals(25, head.getShort(6));
        assertEquals('0', head.get(16));
        assertEquals('3', head.get(51));
        assertEquals(77, head.getLong(56));
        assertEquals(88, head.getLong(64));
        assertEquals(Span.SIZE, head.remaining());
    }

    @Test
    void configurationIsRead() throws ConfigError {
        Config config = new Config("x.conf", CONFIG);
        assertEquals(34567, config.listen.getPort());
        assertEquals(2, config.addresses("upstream.videos").size());
        assertEquals(java.util.Set.of("videos"), config.neededUpstreams());
        assertEquals(20, config.limitOf("ads"));
        assertEquals(0, config.limitOf("videos"));
        assertEquals(10, config.number("hash_cost", 10, 4, 31));
        assertEquals(4, new Config("x.conf", CONFIG + "hash_cost=4\n").number("hash_cost", 10, 4, 31));
        assertThrows(ConfigError.class, () -> new Config("x.conf", CONFIG + "hash_cost=3\n").number("hash_cost", 10, 4, 31));
    }

    @Test
    void errorsOfTheConfigurationNameTheKey() {
        check("colour=red", "colour", CONFIG + "colour=red\n");
        check("twice", "queue", CONFIG + "queue=64\n");
        check("none", "threads", CONFIG.replace("threads=8\n", ""));
        check("no number", "threads", CONFIG.replace("threads=8", "threads=x"));
        check("too many", "threads", CONFIG.replace("threads=8", "threads=1025"));
        check("no port", "listen", CONFIG.replace("127.0.0.1:34567", "127.0.0.1:0"));
        check("no address", "upstream.videos", CONFIG.replace("127.0.0.1:1, 127.0.0.1:2", ","));
        check("no hex", "secret", CONFIG.replace("secret=", "secret=xyz"));
        check("no pair", "what", CONFIG + "what\n");
    }

    private static void check(String about, String key, String text) {
        ConfigError error = assertThrows(ConfigError.class, () -> new Config("x.conf", text), about);
        assertTrue(error.getMessage().contains("`" + key + "`") && error.getMessage().startsWith("x.conf"), error.getMessage());
    }

    @Test
    void storesAreUrisOfLibpq() throws ConfigError {
        StoreAddress unix = StoreAddress.parse("store.movies", "postgresql://movies@/movies?host=/run/x&port=5433");
        assertEquals(new StoreAddress("/run/x", 5433, "movies", "movies", ""), unix);
        assertEquals("/run/x/.s.PGSQL.5433", unix.properties().getProperty("socketFactoryArg"));
        StoreAddress tcp = StoreAddress.parse("store.movies", "postgresql://me:s%40y@127.0.0.1/db");
        assertEquals(new StoreAddress("127.0.0.1", 5432, "db", "me", "s@y"), tcp);
        for (String bad : new String[] {"mongodb://x/y", "postgresql://", "postgresql://u@h:0/d", "%%", "postgresql://u@h:x/d"}) {
            ConfigError error = assertThrows(ConfigError.class, () -> StoreAddress.parse("store.movies", bad), bad);
            assertTrue(error.getMessage().contains("store.movies"));
        }
    }

    @Test
    void aTenthOfCallsMayBeAskedAgain() {
        Budget budget = new Budget();
        int spent = 0;
        while (budget.spend()) {
            spent++;
        }
        assertEquals(10, spent);
        for (int call = 0; call < 11; call++) {
            budget.earn();
        }
        assertTrue(budget.spend());
        assertFalse(budget.spend());
    }
}
