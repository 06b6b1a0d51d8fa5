package movies.userreview;

import java.util.List;
import movies.chassis.Cache;
import movies.chassis.Checks;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.ReviewLists;
import movies.chassis.Store;
import movies.idl.Refused;
import movies.idl.UserReview;

/** Which reviews a user wrote. */
public final class UserReviewHandler extends Handler implements UserReview.Iface {
    private static final String SEE = "INSERT INTO seen (id) VALUES (?) ON CONFLICT DO NOTHING";

    private final Store store;
    private final ReviewLists lists;

    public UserReviewHandler(Store store, Cache cache) {
        this.store = store;
        lists = new ReviewLists(store, cache, "user_reviews", "ur");
    }

    @Override
    public void append(long user, long review, long movie) throws Refused, Failure {
        Checks.number("user", user);
        Checks.number("review", review);
        Checks.number("movie", movie);
        store.update(Long.toString(user), SEE, user + "#" + movie);
        lists.append(user, review);
    }

    @Override
    public List<Long> page(long user, int start, int n) throws Refused, Failure {
        Checks.number("user", user);
        Checks.page(start, n);
        return lists.page(user, start, n);
    }
}
