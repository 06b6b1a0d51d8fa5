package movies.handlers;

import movies.chassis.Cache;
import movies.chassis.Checks;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Chassis;
import movies.idl.Refused;
import movies.idl.UpdateMovie;

/** Counts the stars of new reviews. */
public final class UpdateMovieHandler extends Handler implements UpdateMovie.Iface {
    /**
     * One statement, so that it is one round trip and one transaction: the primary key of `rated` decides whether this review is new, and
     * only a new one is added. The lock on the film's row makes others add after it.
     */
    private static final String COUNT = """
            WITH new AS (INSERT INTO rated (id) VALUES (?) ON CONFLICT DO NOTHING RETURNING id)
            INSERT INTO ratings AS r (id, doc)
            SELECT ?, jsonb_build_object('count', 1, 'sum', ?::bigint) FROM new
            ON CONFLICT (id) DO UPDATE SET doc = r.doc || jsonb_build_object(
                'count', coalesce((r.doc->>'count')::bigint, 0) + 1,
                'sum', coalesce((r.doc->>'sum')::bigint, 0) + ?::bigint)""";

    private final Store store;
    private final Cache cache;

    public UpdateMovieHandler(Chassis.Iface process, Store store, Cache cache) {
        super(process);
        this.store = store;
        this.cache = cache;
    }

    @Override
    public void apply(long movie, long review, int stars) throws Refused, Failure {
        Checks.number("movie", movie);
        Checks.number("review", review);
        Checks.stars(stars);
        String film = Long.toString(movie);
        // Both rows are on the shard of the film's rating, since they share a transaction.
        store.update(film, COUNT, movie + ":" + review, film, (long) stars, (long) stars);
        // Also for a review that was counted before: then this may have been left undone.
        cache.delete("rating:" + film);
    }
}
