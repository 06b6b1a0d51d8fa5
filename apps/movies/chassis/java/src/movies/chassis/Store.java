package movies.chassis;

import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.apache.thrift.TException;

/** The database of a domain: documents by key, as JSON. Every operation must be safe to repeat. Errors of all: `Failure`. */
public interface Store {
    /** The documents found, by key. */
    Map<String, String> getMany(String table, List<String> ids) throws Failure;

    /**
     * A page of the documents `OWNER#…` of an owner, the greatest number in the field `by` first.
     *
     * <p>Cost: it reads all of them.
     */
    List<String> page(String table, String owner, String by, int start, int n) throws Failure;

    /** What follows `OWNER#` in the keys of an owner. */
    List<String> ofOwner(String table, String owner) throws Failure;

    /** False if the key exists. */
    boolean insert(String table, String id, String doc) throws Failure;

    /**
     * Runs one statement, as a transaction, on the shard of the key. The statement must have no further effect when repeated.
     * Returns how many rows were changed.
     */
    int update(String key, String statement, Object... values) throws Failure;

    /** The values found, by key, of a table that holds bytes. */
    Map<String, byte[]> getBytes(String table, List<String> ids) throws Failure;

    /** The next number of a sequence. */
    long next(String sequence) throws Failure;

    void delete(String table, String id) throws Failure;

    /** Several statements in one transaction on the shard of the key; an exception rolls it back. */
    <T> T together(String key, Steps<T> steps) throws TException;

    /** The steps of a transaction. */
    interface Steps<T> {
        T run(Rows rows) throws TException, SQLException;
    }

    /** Operations of a transaction on documents. */
    interface Rows {
        /** Locks the document until the end of the transaction; null if there is none. */
        String lock(String table, String id) throws SQLException;

        /** The document; null if there is none. */
        String get(String table, String id) throws SQLException;

        void insert(String table, String id, String doc) throws SQLException;

        /** Replaces the fields of a document that `doc` has. */
        void merge(String table, String id, String doc) throws SQLException;
    }

    /** The document; null if there is none. */
    default String get(String table, String id) throws Failure {
        return getMany(table, List.of(id)).get(id);
    }
}
