package movies.chassis;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** Those that services in Java and Scala are or call, and their stores. Source: the registry of the application. */
final class Registry {
    /** What spans name of a service or store; the number of a method is its place. */
    record Row(int id, List<String> methods) {}

    private static final Map<String, Row> ROWS = Map.ofEntries(
            Map.entry("movie-info", new Row(5, List.of("read", "readMany"))),
            Map.entry("cast-info", new Row(9, List.of("read"))),
            Map.entry("videos", new Row(12, List.of("read"))),
            Map.entry("movie-recommender", new Row(13, List.of("like"))),
            Map.entry("rent-movie", new Row(14, List.of("rent"))),
            Map.entry("user-auth", new Row(15, List.of("check", "charge"))),
            Map.entry("movie-review", new Row(25, List.of("append", "page"))),
            Map.entry("user-review", new Row(26, List.of("append", "page"))),
            Map.entry("update-movie", new Row(27, List.of("apply"))),
            Map.entry("analytics", new Row(31, List.of())),
            Map.entry("movies-cache", new Row(32, List.of())),
            Map.entry("movies-db", new Row(33, List.of())),
            Map.entry("reviews-cache", new Row(34, List.of())),
            Map.entry("users-cache", new Row(35, List.of())),
            Map.entry("reviews-db", new Row(36, List.of())),
            Map.entry("users-db", new Row(37, List.of())));

    /** Methods that do the same however often they are asked. Source: the contract of the application. */
    private static final Set<String> IDEMPOTENT = Set.of("read", "readMany", "page", "like", "check", "charge", "apply", "append", "ping");

    private Registry() {}

    static Row row(String name) {
        Row row = ROWS.get(name);
        if (row == null) {
            throw new IllegalArgumentException("`" + name + "` is not a service or store that the registry of Java has");
        }
        return row;
    }

    static boolean isIdempotent(String method) {
        return IDEMPOTENT.contains(method);
    }
}
