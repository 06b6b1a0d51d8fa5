package movies.chassis;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Statements over a connection, and those of a transaction. */
record Sql(Connection connection) implements Store.Rows {
    /** What is taken of a row. */
    interface Column<T> {
        T of(ResultSet row) throws SQLException;
    }

    <T> List<T> rows(String text, Column<T> column, Object... values) throws SQLException {
        try (PreparedStatement statement = prepared(text, values); ResultSet rows = statement.executeQuery()) {
            List<T> found = new ArrayList<>();
            while (rows.next()) {
                found.add(column.of(rows));
            }
            return found;
        }
    }

    /** Returns how many rows were changed. */
    int change(String text, Object... values) throws SQLException {
        try (PreparedStatement statement = prepared(text, values)) {
            return statement.executeUpdate();
        }
    }

    /** A value for `= ANY (?)`. */
    Array array(List<String> texts) throws SQLException {
        return connection.createArrayOf("text", texts.toArray());
    }

    private PreparedStatement prepared(String text, Object... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(text);
        for (int at = 0; at < values.length; at++) {
            statement.setObject(at + 1, values[at]);
        }
        return statement;
    }

    @Override
    public String lock(String table, String id) throws SQLException {
        return one("SELECT doc::text FROM " + table + " WHERE id = ? FOR UPDATE", id);
    }

    @Override
    public String get(String table, String id) throws SQLException {
        return one("SELECT doc::text FROM " + table + " WHERE id = ?", id);
    }

    private String one(String text, String id) throws SQLException {
        return rows(text, row -> row.getString(1), id).stream().findFirst().orElse(null);
    }

    @Override
    public void insert(String table, String id, String doc) throws SQLException {
        change("INSERT INTO " + table + " (id, doc) VALUES (?, ?::jsonb)", id, doc);
    }

    @Override
    public void merge(String table, String id, String doc) throws SQLException {
        change("UPDATE " + table + " SET doc = doc || ?::jsonb WHERE id = ?", doc, id);
    }
}
