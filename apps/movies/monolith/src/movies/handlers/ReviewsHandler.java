package movies.handlers;

import java.util.List;
import movies.chassis.Checks;
import movies.chassis.Handler;
import movies.idl.MovieReview;
import movies.idl.Review;
import movies.idl.ReviewStorage;
import movies.idl.Reviews;
import org.apache.thrift.TException;

/** The newest reviews of films. */
public final class ReviewsHandler extends Handler implements Reviews.Iface {
    private final MovieReview.Iface lists;
    private final ReviewStorage.Iface storage;

    public ReviewsHandler(MovieReview.Iface lists, ReviewStorage.Iface storage) {
        this.lists = lists;
        this.storage = storage;
    }

    @Override
    public List<Review> page(long movie, int start, int n) throws TException {
        Checks.page(start, n);
        List<Long> ids = lists.page(movie, start, n);
        return ids.isEmpty() ? List.of() : storage.readMany(ids);
    }
}
