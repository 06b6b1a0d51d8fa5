package movies.moviereview;

import java.util.List;
import movies.chassis.Cache;
import movies.chassis.Checks;
import movies.chassis.Handler;
import movies.chassis.ReviewLists;
import movies.chassis.Store;
import movies.idl.MovieReview;
import movies.idl.UpdateMovie;
import org.apache.thrift.TException;

/** Which reviews a film has. */
public final class MovieReviewHandler extends Handler implements MovieReview.Iface {
    private final ReviewLists lists;
    private final UpdateMovie.Iface updateMovie;

    public MovieReviewHandler(Store store, Cache cache, UpdateMovie.Iface updateMovie) {
        lists = new ReviewLists(store, cache, "movie_reviews", "mr");
        this.updateMovie = updateMovie;
    }

    @Override
    public void append(long movie, long review, int stars, long user) throws TException {
        Checks.number("movie", movie);
        Checks.number("review", review);
        Checks.stars(stars);
        Checks.number("user", user);
        lists.append(movie, review);
        // Also for a review that was listed before: then this may have been left undone. It counts each user once.
        updateMovie.apply(movie, review, stars, user);
    }

    @Override
    public List<Long> page(long movie, int start, int n) throws TException {
        Checks.number("movie", movie);
        Checks.page(start, n);
        return lists.page(movie, start, n);
    }
}
