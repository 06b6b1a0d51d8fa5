package movies.chassis;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;

/** Address of a database, from a URI of libpq: a host, or the folder of a Unix socket, which JDBC's URLs do not have. */
public record StoreAddress(String host, int port, String database, String user, String password) {
    private static final int USUAL_PORT = 5432;

    /** The URI may have a password, so it is not a part of errors. */
    public static StoreAddress parse(String key, String text) throws ConfigError {
        try {
            URI uri = new URI(text);
            boolean isKnown = "postgresql".equals(uri.getScheme()) || "postgres".equals(uri.getScheme());
            // java.net.URI does not take a user without a host.
            String authority = uri.getRawAuthority() == null ? "" : uri.getRawAuthority();
            int at = authority.lastIndexOf('@');
            String[] who = at < 0 ? new String[0] : authority.substring(0, at).split(":", 2);
            String[] where = authority.substring(at + 1).split(":", 2);
            Map<String, String> more = parameters(uri.getRawQuery());
            String host = more.getOrDefault("host", where[0].isEmpty() ? "localhost" : decode(where[0]));
            String port = more.getOrDefault("port", where.length > 1 ? where[1] : Integer.toString(USUAL_PORT));
            String user = more.getOrDefault("user", who.length > 0 ? decode(who[0]) : "");
            String password = more.getOrDefault("password", who.length > 1 ? decode(who[1]) : "");
            String path = uri.getPath() == null ? "" : uri.getPath();
            String database = path.length() > 1 ? path.substring(1) : user;
            long number = Request.decimal(port);
            if (!isKnown || user.isEmpty() || number < 1 || number > 65535) {
                throw new ConfigError("`" + key + "` takes postgresql://USER@HOST:PORT/DATABASE or postgresql://USER@/DATABASE?host=FOLDER&port=N");
            }
            return new StoreAddress(host, (int) number, database, user, password);
        } catch (URISyntaxException | IllegalArgumentException error) {
            throw new ConfigError("`" + key + "` is not a URI: " + error.getClass().getSimpleName());
        }
    }

    private static Map<String, String> parameters(String query) {
        Map<String, String> parameters = new HashMap<>();
        if (query != null) {
            for (String pair : query.split("&")) {
                String[] parts = pair.split("=", 2);
                parameters.put(decode(parts[0]), parts.length > 1 ? decode(parts[1]) : "");
            }
        }
        return parameters;
    }

    private static String decode(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }

    /** For JDBC; the socket comes from `StoreSockets`, so the URL's host is only a name. */
    String url() {
        return "jdbc:postgresql://" + (isUnix() ? "localhost" : host) + ":" + port + "/" + database;
    }

    /** A connection of a batch job, all of whose work must be done within the limit. */
    public Connection connect(Duration limit) throws SQLException {
        Properties properties = properties();
        properties.remove("options");
        return StoreSockets.connecting(Clock.now() + limit.toNanos(), () -> DriverManager.getConnection(url(), properties));
    }

    Properties properties() {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        if (!password.isEmpty()) {
            properties.setProperty("password", password);
        }
        properties.setProperty("socketFactory", StoreSockets.class.getName());
        properties.setProperty("socketFactoryArg", (isUnix() ? host + "/.s.PGSQL." : host + ":") + port);
        // Databases are on this machine; an encrypted connection hides when a statement was sent.
        properties.setProperty("sslmode", "disable");
        properties.setProperty("gssEncMode", "disable");
        // Statements are few and come often.
        properties.setProperty("prepareThreshold", "1");
        // Who waits gives up when the request's time is spent; PostgreSQL then ends the statement by the first of these, and
        // by the second in any case. Setting the time for each statement would cost a round trip.
        properties.setProperty("options", "-c client_connection_check_interval=100 -c statement_timeout=10000");
        return properties;
    }

    static SocketAddress socketAddress(String text) {
        if (text.startsWith("/")) {
            return UnixDomainSocketAddress.of(text);
        }
        int colon = text.lastIndexOf(':');
        return new InetSocketAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
    }

    private boolean isUnix() {
        return host.startsWith("/");
    }
}
