package movies.chassis;

import java.io.Closeable;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.thrift.TException;

/** PostgreSQL by JDBC, in shards. */
final class JdbcStore implements Store {
    private final Service service;
    private final String name;
    private final int peer;
    private final List<Pool<Session>> shards = new ArrayList<>();

    JdbcStore(Service service, String domain) throws ConfigError {
        this.service = service;
        this.name = domain + "-db";
        this.peer = Registry.row(name).id();
        String key = "store." + domain;
        for (String text : service.config.texts(key)) {
            StoreAddress address = StoreAddress.parse(key, text);
            shards.add(new Pool<>(name, service.config.threads, deadline -> Session.open(address, deadline), Session::isAlive));
        }
    }

    /** Runs a query without a table, so that the first request need not load the driver. A missing database is not an error here. */
    void warm() {
        for (Pool<Session> shard : shards) {
            try {
                askOnce(shard, Request.current().deadline, new StoreSpan(service, peer, Span.StoreMethod.GET),
                        sql -> sql.rows("SELECT '{\"a\":1}'::jsonb::text WHERE 'a' = ANY (?)", row -> row.getString(1), sql.array(List.of("a"))))
                        .forEach(Documents::parse);
            } catch (IOException | SQLException | Failure later) {
                service.log.info("a store is not there yet", "store", name, "error", later.getMessage());
            }
        }
    }

    @Override
    public Map<String, String> getMany(String table, List<String> ids) throws Failure {
        return many("SELECT id, doc::text FROM " + table + " WHERE id = ANY (?)", ids, row -> row.getString(2));
    }

    @Override
    public Map<String, byte[]> getBytes(String table, List<String> ids) throws Failure {
        return many("SELECT id, data FROM " + table + " WHERE id = ANY (?)", ids, row -> row.getBytes(2));
    }

    private <T> Map<String, T> many(String text, List<String> ids, Sql.Column<T> value) throws Failure {
        Map<Integer, List<String>> parts = ids.stream().collect(Collectors.groupingBy(this::shardOf, TreeMap::new, Collectors.toList()));
        Span.StoreMethod method = ids.size() == 1 ? Span.StoreMethod.GET : Span.StoreMethod.GET_MANY;
        Map<String, T> found = new HashMap<>();
        for (Map.Entry<Integer, List<String>> part : parts.entrySet()) {
            ask(method, part.getKey(), sql ->
                    sql.rows(text, row -> found.put(row.getString(1), value.of(row)), sql.array(part.getValue())));
        }
        return found;
    }

    @Override
    public List<String> page(String table, String owner, String by, int start, int n) throws Failure {
        return owned("doc::text", table, owner, " ORDER BY (doc->>?)::bigint DESC, id LIMIT ? OFFSET ?", by, n, start);
    }

    @Override
    public List<String> ofOwner(String table, String owner) throws Failure {
        return owned("split_part(id, '#', 2)", table, owner, "");
    }

    private List<String> owned(String what, String table, String owner, String more, Object... values) throws Failure {
        // A range of the primary key, since databases are made with an order by code points, in which `$` follows `#`.
        String text = "SELECT " + what + " FROM " + table + " WHERE id > ? AND id < ?" + more;
        List<Object> all = new ArrayList<>(List.of(owner + "#", owner + "$"));
        all.addAll(List.of(values));
        return ask(Span.StoreMethod.GET_MANY, shardOf(owner), sql -> sql.rows(text, row -> row.getString(1), all.toArray()));
    }

    @Override
    public boolean insert(String table, String id, String doc) throws Failure {
        String statement = "INSERT INTO " + table + " (id, doc) VALUES (?, ?::jsonb) ON CONFLICT DO NOTHING";
        return change(Span.StoreMethod.INSERT, id, statement, id, doc) > 0;
    }

    @Override
    public int update(String key, String statement, Object... values) throws Failure {
        return change(Span.StoreMethod.UPDATE, key, statement, values);
    }

    @Override
    public void delete(String table, String id) throws Failure {
        change(Span.StoreMethod.DELETE, id, "DELETE FROM " + table + " WHERE id = ?", id);
    }

    private int change(Span.StoreMethod method, String key, String text, Object... values) throws Failure {
        return ask(method, shardOf(key), sql -> sql.change(text, values));
    }

    @Override
    public long next(String sequence) throws Failure {
        return ask(Span.StoreMethod.UPDATE, 0, sql -> sql.rows("SELECT nextval(?::regclass)", row -> row.getLong(1), sequence)).get(0);
    }

    @Override
    public <T> T together(String key, Steps<T> steps) throws TException {
        return ask(Span.StoreMethod.UPDATE, shardOf(key), sql -> together(sql, steps)).get();
    }

    /** Returns refusals of the steps, too, since the connection stays usable. */
    private static <T> Later.Done<T> together(Sql sql, Steps<T> steps) throws SQLException {
        sql.connection().setAutoCommit(false);
        boolean isKept = false;
        try {
            T value = steps.run(sql);
            sql.connection().commit();
            isKept = true;
            return new Later.Done<>(value, null);
        } catch (TException refused) {
            return new Later.Done<>(null, refused);
        } finally {
            if (!isKept) {
                sql.connection().rollback();
            }
            sql.connection().setAutoCommit(true);
        }
    }

    private interface Work<T> {
        T run(Sql sql) throws SQLException;
    }

    /** Buckets `ID#k` are on their owner's shard. */
    private int shardOf(String id) {
        int owner = id.indexOf('#');
        return Jump.shard(owner < 0 ? id : id.substring(0, owner), shards.size());
    }

    private <T> T ask(Span.StoreMethod method, int shard, Work<T> work) throws Failure {
        StoreSpan span = new StoreSpan(service, peer, method);
        long deadline = Request.current().deadline;
        Exception why = null;
        try {
            try {
                return askOnce(shards.get(shard), deadline, span, work);
            } catch (IOException | SQLException error) {
                if (!isLost(error) || Request.left(deadline) <= 0) {
                    throw error;
                }
            }
            // The database was restarted since.
            span.retried();
            return askOnce(shards.get(shard), deadline, span, work);
        } catch (IOException | SQLException error) {
            Failure failure = failure(error, deadline);
            why = failure;
            throw failure;
        } catch (Failure failure) {
            why = failure;
            throw failure;
        } finally {
            span.end(why);
        }
    }

    private static <T> T askOnce(Pool<Session> pool, long deadline, StoreSpan span, Work<T> work)
            throws IOException, SQLException, Failure {
        Session session = pool.take(deadline);
        span.begin(session.socket.wire);
        boolean isSound = false;
        try {
            session.socket.deadline = deadline;
            T result = work.run(new Sql(session.connection));
            isSound = true;
            return result;
        } catch (SQLException error) {
            isSound = !isLost(error);
            throw error;
        } finally {
            span.took(session.socket.wire);
            if (isSound) {
                pool.keep(session);
            } else {
                // If only the time was up, the other connections may still be good.
                pool.lose(session, Request.left(deadline) > 0);
            }
        }
    }

    /** Whether the connection is of no more use, so that another may answer. Classes 08 and 57P. Source: PostgreSQL 15, appendix A. */
    private static boolean isLost(Exception error) {
        String state = error instanceof SQLException said ? said.getSQLState() : null;
        return state == null || state.startsWith("08") || state.startsWith("57P");
    }

    private Failure failure(Exception error, long deadline) {
        // 57014: the statement was ended, which its own limit does only.
        boolean isEnded = error instanceof SQLException said && "57014".equals(said.getSQLState());
        if (isEnded || Request.left(deadline) <= 0) {
            return new Failure.DeadlineSpent(name + " did not answer in time");
        }
        String what = String.valueOf(error.getMessage()).lines().findFirst().orElse("");
        service.log.error("a store failed", "store", name, "error", what);
        return new Failure.Unavailable(name + ": " + what);
    }

    /** A connection of the driver, and the socket below. */
    private record Session(Connection connection, StoreSocket socket) implements Closeable {
        static Session open(StoreAddress address, long deadline) throws IOException {
            try {
                Connection connection =
                        StoreSockets.connecting(deadline, () -> DriverManager.getConnection(address.url(), address.properties()));
                return new Session(connection, StoreSockets.takeMade());
            } catch (SQLException error) {
                throw new IOException(error.getMessage(), error);
            }
        }

        boolean isAlive() {
            return socket.wire.isAlive();
        }

        @Override
        public void close() {
            // Not the driver's: that would send a message, and may wait.
            socket.close();
        }
    }
}
