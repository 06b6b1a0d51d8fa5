package movies.handlers;

import movies.chassis.Cache;
import movies.chassis.Checks;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Refused;
import movies.idl.UpdateMovie;

/** Counts the stars of new reviews. */
public final class UpdateMovieHandler extends Handler implements UpdateMovie.Iface {
    /**
     * One statement, so that it is one round trip and one transaction. The primary key of `rated` admits one row for film and user; a newer
     * review replaces it and an older one does not. The row's own stars before, which its lock keeps, say what to subtract. The lock on the
     * film's row makes others add after it.
     */
    private static final String COUNT = """
            WITH new AS (
                INSERT INTO rated AS d (id, doc) VALUES (?, jsonb_build_object('review', ?::bigint, 'stars', ?::bigint))
                ON CONFLICT (id) DO UPDATE SET doc = excluded.doc || jsonb_build_object('before', d.doc->'stars')
                WHERE (d.doc->>'review')::bigint < (excluded.doc->>'review')::bigint
                RETURNING (doc->>'before')::bigint AS before)
            INSERT INTO ratings AS r (id, doc)
            SELECT ?, jsonb_build_object('count', (before IS NULL)::int, 'sum', ?::bigint - coalesce(before, 0)) FROM new
            ON CONFLICT (id) DO UPDATE SET doc = r.doc || jsonb_build_object(
                'count', coalesce((r.doc->>'count')::bigint, 0) + (excluded.doc->>'count')::bigint,
                'sum', coalesce((r.doc->>'sum')::bigint, 0) + (excluded.doc->>'sum')::bigint)""";

    private final Store store;
    private final Cache cache;

    public UpdateMovieHandler(Store store, Cache cache) {
        this.store = store;
        this.cache = cache;
    }

    @Override
    public void apply(long movie, long review, int stars, long user) throws Refused, Failure {
        Checks.number("movie", movie);
        Checks.number("review", review);
        Checks.stars(stars);
        Checks.number("user", user);
        String film = Long.toString(movie);
        // Both rows are on the shard of the film's rating, since they share a transaction.
        store.update(film, COUNT, movie + ":" + user, review, (long) stars, film, (long) stars);
        // Also for a review that was counted before: then this may have been left undone.
        cache.delete("rating:" + film);
    }
}
