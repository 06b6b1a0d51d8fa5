package movies.userreview;

import movies.chassis.Run;
import movies.idl.UserReview;

/** The service user-review. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        Run.main("user-review", arguments, UserReview.Processor<UserReview.Iface>::new, service ->
                new UserReviewHandler(service, service.store("users"), service.cache("users")));
    }
}
