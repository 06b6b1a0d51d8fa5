package movies.chassis;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Lists of reviews, of films or of users, which only grow.
 *
 * <p>A table has for each owner `ID`, how many there are, and buckets `ID#k` of 20, the oldest first. Only full buckets, which never
 * change, are cached.
 */
public final class ReviewLists {
    /** Source: the contract of the application. */
    static final int BUCKET = 20;

    private final Store store;
    private final Cache cache;
    private final String table;
    private final String cachePrefix;
    private final String append;

    /** `cachePrefix`: of keys of the cache, such as `mr`. */
    public ReviewLists(Store store, Cache cache, String table, String cachePrefix) {
        this.store = store;
        this.cache = cache;
        this.table = table;
        this.cachePrefix = cachePrefix;
        this.append = append(table);
    }

    /**
     * One statement, so that it is one round trip and one transaction: the primary key of `listed` decides whether this review is
     * new, and only then has the owner one more, whose place decides the bucket. The lock on the owner's row makes others add
     * after it.
     */
    private static String append(String table) {
        return """
                WITH new AS (INSERT INTO listed (id) VALUES (? || ':' || ?) ON CONFLICT DO NOTHING RETURNING id),
                counted AS (
                    INSERT INTO TABLE AS t (id, doc) SELECT ?, jsonb_build_object('n', 1) FROM new
                    ON CONFLICT (id) DO UPDATE SET doc = jsonb_build_object('n', (t.doc->>'n')::bigint + 1)
                    RETURNING id, (doc->>'n')::bigint - 1 AS place)
                INSERT INTO TABLE AS t (id, doc)
                SELECT id || '#' || place / BUCKET, jsonb_build_object('reviews', jsonb_build_array(?::bigint)) FROM counted
                ON CONFLICT (id) DO UPDATE
                SET doc = jsonb_build_object('reviews', (t.doc->'reviews') || (excluded.doc->'reviews'))"""
                .replace("TABLE", table).replace("BUCKET", Integer.toString(BUCKET));
    }

    /** Lists a review once, even if repeated. */
    public void append(long owner, long review) throws Failure {
        String id = Long.toString(owner);
        store.update(id, append, id, Long.toString(review), id, review);
    }

    /** The newest first. */
    public List<Long> page(long owner, int start, int n) throws Failure {
        JsonObject owned = n == 0 ? null : Documents.parse(String.valueOf(store.get(table, Long.toString(owner))));
        long all = owned == null ? 0 : Documents.number(owned, "n");
        long newest = all - 1 - start;
        long oldest = Math.max(0, all - start - n);
        if (newest < 0) {
            return List.of();
        }
        Map<Long, JsonArray> buckets = buckets(owner, oldest / BUCKET, newest / BUCKET, all / BUCKET);
        List<Long> page = new ArrayList<>(n);
        for (long place = newest; place >= oldest; place--) {
            JsonArray bucket = buckets.get(place / BUCKET);
            int at = (int) (place % BUCKET);
            if (bucket == null || bucket.size() <= at) {
                throw new Failure.Unavailable(table + ": bucket `" + owner + "#" + place / BUCKET + "` has no place " + at);
            }
            page.add(bucket.get(at).getAsLong());
        }
        return page;
    }

    /** `full`: how many buckets are full. */
    private Map<Long, JsonArray> buckets(long owner, long first, long last, long full) throws Failure {
        Map<Long, JsonArray> found = new HashMap<>();
        List<String> keys = new ArrayList<>();
        for (long k = first; k <= Math.min(last, full - 1); k++) {
            keys.add(key(owner, k));
        }
        Map<String, byte[]> cached = keys.isEmpty() ? Map.of() : cache.getMany(keys);
        List<String> missing = new ArrayList<>();
        for (long k = first; k <= last; k++) {
            byte[] value = cached.get(key(owner, k));
            JsonArray bucket = value == null ? null : reviews(new String(value, StandardCharsets.UTF_8));
            if (bucket != null && bucket.size() == BUCKET) {
                found.put(k, bucket);
            } else {
                missing.add(owner + "#" + k);
            }
        }
        if (missing.isEmpty()) {
            return found;
        }
        for (Map.Entry<String, String> row : store.getMany(table, missing).entrySet()) {
            long k = Long.parseLong(row.getKey(), row.getKey().indexOf('#') + 1, row.getKey().length(), 10);
            JsonArray bucket = reviews(row.getValue());
            found.put(k, bucket);
            if (bucket != null && bucket.size() == BUCKET) {
                cache.set(key(owner, k), row.getValue().getBytes(StandardCharsets.UTF_8), Cache.LONG_S);
            }
        }
        return found;
    }

    private String key(long owner, long bucket) {
        return cachePrefix + ":" + owner + ":" + bucket;
    }

    /** Null if it is not a valid bucket. */
    private static JsonArray reviews(String text) {
        JsonObject bucket = Documents.parse(text);
        return bucket != null && bucket.get("reviews") instanceof JsonArray reviews ? reviews : null;
    }
}
