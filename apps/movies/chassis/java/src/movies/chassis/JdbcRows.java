package movies.chassis;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.thrift.TException;

/** The statements of a transaction, and other statements. */
record JdbcRows(Connection connection) implements Store.Rows {
    /** Returns refusals of the steps, too, since the connection stays usable. */
    static <T> Later.Done<T> together(Connection connection, Store.Steps<T> steps) throws SQLException {
        connection.setAutoCommit(false);
        boolean isKept = false;
        try {
            T value = steps.run(new JdbcRows(connection));
            connection.commit();
            isKept = true;
            return new Later.Done<>(value, null);
        } catch (TException refused) {
            return new Later.Done<>(null, refused);
        } finally {
            if (!isKept) {
                connection.rollback();
            }
            connection.setAutoCommit(true);
        }
    }

    static Map<String, byte[]> bytes(Connection connection, String table, List<String> ids) throws SQLException {
        Map<String, byte[]> found = new HashMap<>();
        try (PreparedStatement statement = connection.prepareStatement("SELECT id, data FROM " + table + " WHERE id = ANY (?)")) {
            statement.setArray(1, connection.createArrayOf("text", ids.toArray()));
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found.put(rows.getString(1), rows.getBytes(2));
                }
            }
        }
        return found;
    }

    static List<String> page(Connection connection, String table, String owner, String by, int start, int n) throws SQLException {
        return owned(connection, "doc::text", table, owner, " ORDER BY (doc->>?)::bigint DESC, id LIMIT ? OFFSET ?", by, n, start);
    }

    static List<String> ofOwner(Connection connection, String table, String owner) throws SQLException {
        return owned(connection, "split_part(id, '#', 2)", table, owner, "");
    }

    private static List<String> owned(Connection connection, String what, String table, String owner, String more, Object... values)
            throws SQLException {
        // A range of the primary key, since databases are made with an order by code points, in which `$` follows `#`.
        String text = "SELECT " + what + " FROM " + table + " WHERE id > ? AND id < ?" + more;
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            statement.setString(1, owner + "#");
            statement.setString(2, owner + "$");
            for (int at = 0; at < values.length; at++) {
                statement.setObject(at + 3, values[at]);
            }
            List<String> found = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found.add(rows.getString(1));
                }
            }
            return found;
        }
    }

    static long next(Connection connection, String sequence) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("SELECT nextval(?::regclass)")) {
            statement.setString(1, sequence);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                return rows.getLong(1);
            }
        }
    }

    @Override
    public String lock(String table, String id) throws SQLException {
        return one("SELECT doc::text FROM " + table + " WHERE id = ? FOR UPDATE", id);
    }

    @Override
    public String get(String table, String id) throws SQLException {
        return one("SELECT doc::text FROM " + table + " WHERE id = ?", id);
    }

    @Override
    public void insert(String table, String id, String doc) throws SQLException {
        change("INSERT INTO " + table + " (id, doc) VALUES (?, ?::jsonb)", id, doc);
    }

    @Override
    public void merge(String table, String id, String doc) throws SQLException {
        change("UPDATE " + table + " SET doc = doc || ?::jsonb WHERE id = ?", doc, id);
    }

    private String one(String text, String id) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            statement.setString(1, id);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getString(1) : null;
            }
        }
    }

    private void change(String text, String... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            for (int at = 0; at < values.length; at++) {
                statement.setString(at + 1, values[at]);
            }
            statement.executeUpdate();
        }
    }
}
