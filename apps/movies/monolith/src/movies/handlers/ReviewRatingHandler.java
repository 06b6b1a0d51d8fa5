package movies.handlers;

import movies.chassis.Checks;
import movies.chassis.Handler;
import movies.idl.ComposeReview;
import movies.idl.Part;
import movies.idl.PartKind;
import movies.idl.ReviewRating;
import org.apache.thrift.TException;

/** Checks the stars of reviews. */
public final class ReviewRatingHandler extends Handler implements ReviewRating.Iface {
    private final ComposeReview.Iface reviews;

    public ReviewRatingHandler(ComposeReview.Iface reviews) {
        this.reviews = reviews;
    }

    @Override
    public void upload(long request, int stars) throws TException {
        Checks.stars(stars);
        reviews.put(request, new Part(PartKind.STARS, stars, ""));
    }
}
