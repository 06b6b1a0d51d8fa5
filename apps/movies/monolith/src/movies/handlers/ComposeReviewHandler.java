package movies.handlers;

import java.util.Optional;
import java.util.concurrent.TimeUnit;
import movies.chassis.Clock;
import movies.chassis.Handler;
import movies.chassis.Later;
import movies.idl.Code;
import movies.idl.ComposeReview;
import movies.idl.MovieReview;
import movies.idl.Part;
import movies.idl.Refused;
import movies.idl.Review;
import movies.idl.ReviewStorage;
import movies.idl.UserReview;
import org.apache.thrift.TException;

/** Gathers the five parts of a review, and stores it with the last. */
public final class ComposeReviewHandler extends Handler implements ComposeReview.Iface {
    /**
     * A process that ends loses its parts, although their senders had a successful answer. A request lives no longer than
     * this, so the next process accepts none of its remaining parts; otherwise it would gather them for a set that never
     * completes, and all five senders would have a successful answer without a review. A caller in the same process ends
     * with it.
     */
    public static final long SETTLE_NS = TimeUnit.MILLISECONDS.toNanos(Parts.LONGEST_LIFE_MS);

    private final ReviewStorage.Iface storage;
    private final MovieReview.Iface movieReview;
    private final UserReview.Iface userReview;
    private final long settledAt;
    private final Parts parts = new Parts();

    /** `settledAt`: from when on it takes parts. Units: ns of CLOCK_MONOTONIC. */
    public ComposeReviewHandler(
            ReviewStorage.Iface storage, MovieReview.Iface movieReview, UserReview.Iface userReview, long settledAt) {
        this.storage = storage;
        this.movieReview = movieReview;
        this.userReview = userReview;
        this.settledAt = settledAt;
    }

    @Override
    public boolean put(long request, Part part) throws TException {
        if (Clock.now() < settledAt) {
            throw new Refused(Code.UNAVAILABLE, "parts that were put before the start are lost; try again in 2 s");
        }
        Parts.Now now = parts.put(request, part);
        Optional<Review> whole = now.whole();
        if (whole.isEmpty()) {
            return now.isStored();
        }
        boolean isStored = false;
        try {
            store(whole.get());
            isStored = true;
        } finally {
            parts.finish(request, isStored);
        }
        return true;
    }

    /**
     * Stores the review before its place in the lists: if this or another process is killed in between, a list still names
     * only existing reviews. At worst a review remains that no list names; its author got an error.
     */
    private void store(Review review) throws TException {
        storage.store(review);
        try (Later<?> ofMovie = Later.ask(movieReview, asked -> {
                    asked.append(review.getMovie(), review.getReview(), review.getStars(), review.getUser());
                    return null;
                });
                Later<?> ofUser = Later.ask(userReview, asked -> {
                    asked.append(review.getUser(), review.getReview(), review.getMovie());
                    return null;
                })) {
            ofMovie.get();
            ofUser.get();
        }
    }
}
