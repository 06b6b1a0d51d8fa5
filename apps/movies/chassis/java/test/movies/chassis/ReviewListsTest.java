package movies.chassis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class ReviewListsTest {
    /** Documents in memory; `update` is PostgreSQL's, and is tested with it. */
    private static final class Memory implements Store, Cache {
        final Map<String, String> rows = new HashMap<>();
        final Map<String, byte[]> cached = new HashMap<>();

        @Override
        public Map<String, String> getMany(String table, List<String> ids) {
            Map<String, String> found = new HashMap<>(rows);
            found.keySet().retainAll(ids);
            return found;
        }

        @Override
        public List<String> page(String table, String owner, String by, int start, int n) {
            throw new UnsupportedOperationException();
        }

        @Override
        public List<String> ofOwner(String table, String owner) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean insert(String table, String id, String doc) {
            return rows.putIfAbsent(id, doc) == null;
        }

        @Override
        public int update(String key, String statement, Object... values) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Map<String, byte[]> getBytes(String table, List<String> ids) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long next(String sequence) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void delete(String table, String id) {
            rows.remove(id);
        }

        @Override
        public <T> T together(String key, Steps<T> steps) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void delete(String key) {
            cached.remove(key);
        }

        @Override
        public Map<String, byte[]> getMany(List<String> keys) {
            Map<String, byte[]> found = new HashMap<>(cached);
            found.keySet().retainAll(keys);
            return found;
        }

        @Override
        public void set(String key, byte[] value, int expiryS) {
            cached.put(key, value);
        }
    }

    /** Reviews 1 to n. */
    private static Memory with(int n) {
        Memory memory = new Memory();
        memory.rows.put("1", "{\"n\": " + n + "}");
        for (int k = 0; k * ReviewLists.BUCKET < n; k++) {
            long last = Math.min(n, (k + 1) * ReviewLists.BUCKET);
            List<Long> reviews = LongStream.rangeClosed(k * ReviewLists.BUCKET + 1, last).boxed().toList();
            memory.rows.put("1#" + k, "{\"reviews\": " + reviews + "}");
        }
        return memory;
    }

    @Test
    void pagesAreThoseOfAPlainList() throws Failure {
        for (int n : new int[] {0, 1, 19, 20, 21, 40, 59, 101}) {
            Memory memory = with(n);
            ReviewLists lists = new ReviewLists(memory, memory, "movie_reviews", "mr");
            for (int start : new int[] {0, 1, 19, 20, 21, 100, Integer.MAX_VALUE}) {
                for (int size : new int[] {0, 1, 20, 41, 100}) {
                    List<Long> expected = LongStream.range(0, n).map(at -> n - at).skip(start).limit(size).boxed().toList();
                    assertEquals(expected, lists.page(1, start, size), n + " reviews, from " + start + ", " + size);
                    assertEquals(expected, lists.page(1, start, size), "from the cache");
                }
            }
            memory.cached.forEach((key, value) -> assertEquals(ReviewLists.BUCKET, new String(value, StandardCharsets.UTF_8).split(",").length));
        }
    }

    @Test
    void onlyFullBucketsAreCached() throws Failure {
        Memory memory = with(41);
        new ReviewLists(memory, memory, "movie_reviews", "mr").page(1, 0, 41);
        assertEquals(java.util.Set.of("mr:1:0", "mr:1:1"), memory.cached.keySet());
    }

    @Test
    void whatIsNoBucketIsAMissOrAnError() throws Failure {
        Memory memory = with(21);
        memory.cached.put("mr:1:0", new byte[] {'{'});
        ReviewLists lists = new ReviewLists(memory, memory, "movie_reviews", "mr");
        assertEquals(List.of(20L), lists.page(1, 1, 1));
        memory.rows.put("1#1", "{}");
        assertThrows(Failure.Unavailable.class, () -> lists.page(1, 0, 1));
    }
}
