package movies.handlers;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import movies.chassis.Cache;
import movies.chassis.Failure;
import movies.chassis.Store;

/** Pictures, which do not change, by their keys in the cache and their ids in the store. */
final class Pictures {
    private final Store store;
    private final Cache cache;

    /** The names of one picture. */
    record Name(String key, String id) {}

    Pictures(Store store, Cache cache) {
        this.store = store;
        this.cache = cache;
    }

    /** The existing ones, by id: from the cache, and missing ones from the store, which then fill the cache. */
    Map<String, byte[]> read(List<Name> names) throws Failure {
        Map<String, byte[]> found = new HashMap<>();
        Map<String, byte[]> cached = cache.getMany(names.stream().map(Name::key).toList());
        List<Name> missing = new ArrayList<>();
        for (Name name : names) {
            byte[] picture = cached.get(name.key);
            if (picture != null) {
                found.put(name.id, picture);
            } else {
                missing.add(name);
            }
        }
        if (missing.isEmpty()) {
            return found;
        }
        Map<String, byte[]> stored = store.getBytes("pictures", missing.stream().map(Name::id).toList());
        for (Name name : missing) {
            byte[] picture = stored.get(name.id);
            if (picture != null) {
                cache.set(name.key, picture, Cache.LONG_S);
                found.put(name.id, picture);
            }
        }
        return found;
    }
}
