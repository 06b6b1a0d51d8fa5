package movies.chassis;

import java.util.List;
import java.util.Map;

/** The database of a domain: documents by key, as JSON. All that it is asked may be asked twice. Errors of all: `Failure`. */
public interface Store {
    /** The documents of those keys that are there. */
    Map<String, String> getMany(String table, List<String> ids) throws Failure;

    /** False where the key is taken. */
    boolean insert(String table, String id, String doc) throws Failure;

    /**
     * Changes what one statement says, which is a transaction, where the shard of the key is. It must do nothing when it is asked
     * again. Returns how many rows were changed.
     */
    int update(String key, String statement, Object... values) throws Failure;

    /** The document; null where there is none. */
    default String get(String table, String id) throws Failure {
        return getMany(table, List.of(id)).get(id);
    }
}
