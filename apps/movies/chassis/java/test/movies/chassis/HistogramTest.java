package movies.chassis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

final class HistogramTest {
    private static JsonObject vectors() throws IOException {
        Path file = Path.of(System.getProperty("movies.contract"), "vectors.json");
        return JsonParser.parseString(Files.readString(file)).getAsJsonObject();
    }

    @Test
    void bucketsAreThoseOfTheVectors() throws IOException {
        Iterable<JsonElement> all = vectors().getAsJsonArray("buckets");
        assertTrue(all.iterator().hasNext());
        for (JsonElement each : all) {
            JsonObject one = each.getAsJsonObject();
            assertEquals(one.get("bucket").getAsInt(), Histogram.bucket(Long.parseLong(one.get("ns").getAsString())), one.toString());
        }
        assertEquals(Histogram.BUCKETS - 1, Histogram.bucket(Long.MAX_VALUE));
    }

    @Test
    void onlyBucketsThatAreNotEmptyAreNamed() {
        Histogram histogram = new Histogram();
        for (long ns : new long[] {3, 1000, 1001, 3}) {
            histogram.add(ns);
        }
        Map<String, Long> all = new TreeMap<>();
        histogram.appendTo(all, "edge");
        assertEquals(Map.of("edge.3", 2L, "edge.63", 2L), all);
    }

    @Test
    void timesAreThreeNumbers() throws IOException {
        JsonObject times = vectors().getAsJsonObject("times");
        for (JsonElement each : times.getAsJsonArray("good")) {
            Times parsed = Times.parse(each.getAsJsonObject().get("text").getAsString());
            String again = parsed.queue() + "," + parsed.application() + "," + parsed.processor();
            assertEquals(each.getAsJsonObject().get("text").getAsString(), again);
        }
        for (JsonElement one : times.getAsJsonArray("bad")) {
            assertNull(Times.parse(one.getAsString()), one.toString());
        }
        assertNull(Times.parse(null));
    }
}
