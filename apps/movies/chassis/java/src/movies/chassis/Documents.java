package movies.chassis;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Documents of one table that seldom change, kept in the cache. */
public final class Documents {
    private final Store store;
    private final Cache cache;
    private final String table;
    private final UnaryOperator<String> keyOf;
    private final int expiryS;

    /** `keyOf`: the cache's key of an id. */
    public Documents(Store store, Cache cache, String table, UnaryOperator<String> keyOf) {
        this(store, cache, table, keyOf, Cache.LONG_S);
    }

    /** `expiryS`: how long the cache keeps one. */
    public Documents(Store store, Cache cache, String table, UnaryOperator<String> keyOf, int expiryS) {
        this.store = store;
        this.cache = cache;
        this.table = table;
        this.keyOf = keyOf;
        this.expiryS = expiryS;
    }

    /** The document; null if there is none. */
    public JsonObject get(String id) throws Failure {
        return getMany(List.of(id)).get(id);
    }

    /** The existing documents, by id. An invalid cached value counts as a miss. */
    public Map<String, JsonObject> getMany(List<String> ids) throws Failure {
        Map<String, JsonObject> found = new HashMap<>();
        Map<String, byte[]> cached = cache.getMany(ids.stream().distinct().map(keyOf).toList());
        List<String> missing = new ArrayList<>();
        for (String id : ids) {
            byte[] value = cached.get(keyOf.apply(id));
            JsonObject document = value == null ? null : parse(new String(value, StandardCharsets.UTF_8));
            if (document != null) {
                found.put(id, document);
            } else if (!missing.contains(id)) {
                missing.add(id);
            }
        }
        if (missing.isEmpty()) {
            return found;
        }
        for (Map.Entry<String, String> row : store.getMany(table, missing).entrySet()) {
            JsonObject document = parse(row.getValue());
            if (document == null) {
                throw new Failure.Unavailable(table + ": document `" + row.getKey() + "` is not a JSON object");
            }
            found.put(row.getKey(), document);
            cache.set(keyOf.apply(row.getKey()), row.getValue().getBytes(StandardCharsets.UTF_8), expiryS);
        }
        return found;
    }

    /** Null if it is not a JSON object. */
    public static JsonObject parse(String text) {
        try {
            return JsonParser.parseString(text) instanceof JsonObject object ? object : null;
        } catch (JsonParseException | StackOverflowError error) {
            return null;
        }
    }

    /** The text of a field; empty if absent. */
    public static String text(JsonObject document, String name) {
        return document.has(name) && !document.get(name).isJsonNull() ? document.get(name).getAsString() : "";
    }

    /** The number of a field; 0 if absent. */
    public static long number(JsonObject document, String name) {
        return document.has(name) && !document.get(name).isJsonNull() ? document.get(name).getAsLong() : 0;
    }
}
