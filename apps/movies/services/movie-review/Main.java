package movies.moviereview;

import movies.chassis.Run;
import movies.idl.MovieReview;
import movies.idl.UpdateMovie;

/** The service movie-review. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        Run.main("movie-review", arguments, MovieReview.Processor<MovieReview.Iface>::new, service ->
                new MovieReviewHandler(
                        service,
                        service.store("reviews"),
                        service.cache("reviews"),
                        service.upstream("update-movie", UpdateMovie.Iface.class, new UpdateMovie.Client.Factory())));
    }
}
