package movies.chassis;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** The services, and their stores. Source: the registry of the application. */
final class Registry {
    /** Numbers by which spans name a service or store; the number of a method is its index. */
    record Row(int id, List<String> methods) {}

    /** The HTTP front, alone or with all services in its process. */
    private static final Row HTTP = new Row(3, List.of(
            "page", "review", "rent", "search", "titles", "login", "sign-up", "rentals", "deposit", "my-reviews",
            "logout"));

    private static final Map<String, Row> ROWS = Map.ofEntries(
            Map.entry("front", HTTP),
            Map.entry("monolith", HTTP),
            Map.entry("compose-page", new Row(4, List.of("compose"))),
            Map.entry("movie-info", new Row(5, List.of("read", "readMany"))),
            Map.entry("plot", new Row(6, List.of("read"))),
            Map.entry("thumbnail", new Row(7, List.of("read"))),
            Map.entry("rating", new Row(8, List.of("read"))),
            Map.entry("cast-info", new Row(9, List.of("read"))),
            Map.entry("reviews", new Row(10, List.of("page"))),
            Map.entry("photos", new Row(11, List.of("read"))),
            Map.entry("videos", new Row(12, List.of("read"))),
            Map.entry("movie-recommender", new Row(13, List.of("like"))),
            Map.entry("rent-movie", new Row(14, List.of("rent", "account", "deposit"))),
            Map.entry("user-auth", new Row(15, List.of("check", "charge", "balance", "deposit"))),
            Map.entry("unique-id", new Row(19, List.of("upload"))),
            Map.entry("movie-id", new Row(20, List.of("upload"))),
            Map.entry("text", new Row(21, List.of("upload"))),
            Map.entry("review-rating", new Row(22, List.of("upload"))),
            Map.entry("compose-review", new Row(23, List.of("put"))),
            Map.entry("review-storage", new Row(24, List.of("store", "readMany"))),
            Map.entry("movie-review", new Row(25, List.of("append", "page"))),
            Map.entry("user-review", new Row(26, List.of("append", "page"))),
            Map.entry("update-movie", new Row(27, List.of("apply"))),
            Map.entry("user", new Row(28, List.of("signUp", "login", "logout", "check", "upload"))),
            Map.entry("search", new Row(29, List.of("find", "titles"))),
            Map.entry("ads", new Row(30, List.of("pick"))),
            Map.entry("analytics", new Row(31, List.of())),
            Map.entry("movies-cache", new Row(32, List.of())),
            Map.entry("movies-db", new Row(33, List.of())),
            Map.entry("reviews-cache", new Row(34, List.of())),
            Map.entry("users-cache", new Row(35, List.of())),
            Map.entry("reviews-db", new Row(36, List.of())),
            Map.entry("users-db", new Row(37, List.of())));

    /** Methods that are safe to repeat. Source: the contract of the application. */
    private static final Set<String> IDEMPOTENT = Set.of(
            "read", "readMany", "page", "like", "find", "titles", "pick", "check", "charge", "balance", "account", "deposit", "apply",
            "append", "store", "compose", "logout", "ping");

    /** Services whose instance depends on the first argument. Source: the same. */
    private static final Set<String> SHARDED = Set.of("compose-review");

    private Registry() {}

    static Row row(String name) {
        Row row = ROWS.get(name);
        if (row == null) {
            throw new IllegalArgumentException("`" + name + "` is not a service or store that the registry of Java has");
        }
        return row;
    }

    static boolean isSharded(String name) {
        return SHARDED.contains(name);
    }

    static boolean isIdempotent(String method) {
        return IDEMPOTENT.contains(method);
    }
}
