package movies.handlers;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import movies.chassis.Cache;
import movies.chassis.Store;

/** A store and a cache in memory; transactions and statements are PostgreSQL's, and are tested with it. */
final class Memory implements Store, Cache {
    final Map<String, String> rows = new HashMap<>();
    final Map<String, byte[]> bytes = new HashMap<>();
    final Map<String, byte[]> cached = new HashMap<>();
    /** Keys requested from the store. */
    final List<String> asked = new ArrayList<>();

    @Override
    public Map<String, String> getMany(String table, List<String> ids) {
        asked.addAll(ids);
        Map<String, String> found = new HashMap<>();
        for (String id : ids) {
            if (rows.containsKey(table + " " + id)) {
                found.put(id, rows.get(table + " " + id));
            }
        }
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
        return rows.putIfAbsent(table + " " + id, doc) == null;
    }

    @Override
    public int update(String key, String statement, Object... values) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Map<String, byte[]> getBytes(String table, List<String> ids) {
        asked.addAll(ids);
        Map<String, byte[]> found = new HashMap<>(bytes);
        found.keySet().retainAll(ids);
        return found;
    }

    @Override
    public long next(String sequence) {
        return 1 + rows.keySet().stream().filter(key -> key.startsWith("users ")).count();
    }

    @Override
    public void delete(String table, String id) {
        rows.remove(table + " " + id);
    }

    @Override
    public <T> T together(String key, Steps<T> steps) {
        throw new UnsupportedOperationException();
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

    @Override
    public void delete(String key) {
        cached.remove(key);
    }
}
