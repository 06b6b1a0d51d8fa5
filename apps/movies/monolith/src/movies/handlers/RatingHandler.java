package movies.handlers;

import com.google.gson.JsonObject;
import movies.chassis.Cache;
import movies.chassis.Documents;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Rating;
import movies.idl.RatingService;

/** Mean and number of the stars of films. */
public final class RatingHandler extends Handler implements RatingService.Iface {
    /** Expiry. A new review deletes the key; a value read before and cached after that lasts this long. Units: s. */
    private static final int KEPT_S = 5;

    private final Documents ratings;

    public RatingHandler(Store store, Cache cache) {
        ratings = new Documents(store, cache, "ratings", id -> "rating:" + id, KEPT_S);
    }

    @Override
    public Rating read(long movie) throws Failure {
        // A film that was never reviewed has no document.
        JsonObject document = ratings.get(Long.toString(movie));
        long count = document == null ? 0 : Documents.number(document, "count");
        double mean = count > 0 ? (double) Documents.number(document, "sum") / count : 0;
        return new Rating(mean, count);
    }
}
