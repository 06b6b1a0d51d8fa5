package movies.monolith;

import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import movies.castinfo.CastInfoHandler;
import movies.chassis.Clock;
import movies.chassis.ConfigError;
import movies.chassis.Run;
import movies.chassis.Service;
import movies.chassis.SignedAddress;
import movies.handlers.ComposePageHandler;
import movies.handlers.ComposeReviewHandler;
import movies.handlers.Ids;
import movies.handlers.MovieIdHandler;
import movies.handlers.PhotosHandler;
import movies.handlers.PlotHandler;
import movies.handlers.RatingHandler;
import movies.handlers.ReviewRatingHandler;
import movies.handlers.ReviewStorageHandler;
import movies.handlers.ReviewsHandler;
import movies.handlers.SearchHandler;
import movies.handlers.TextHandler;
import movies.handlers.ThumbnailHandler;
import movies.handlers.Tokens;
import movies.handlers.UniqueIdHandler;
import movies.handlers.UpdateMovieHandler;
import movies.handlers.UserAuthHandler;
import movies.handlers.UserHandler;
import movies.handlers.VideosHandler;
import movies.http.Api;
import movies.http.HttpServer;
import movies.idl.ComposePage;
import movies.idl.ComposeReview;
import movies.idl.MovieReview;
import movies.idl.RentMovie;
import movies.idl.ReviewStorage;
import movies.idl.Videos;
import movies.movieinfo.MovieInfoHandler;
import movies.moviereview.MovieReviewHandler;
import movies.rentmovie.RentMovieHandler;
import movies.userreview.UserReviewHandler;

/** All services in one process: the same classes, which ask each other directly. */
public final class Monolith {
    /** Eight parts of a page run in parallel, half of which wait for a cache or a database. */
    private static final int PARTS_A_WORKER = 4;

    private final Service service;
    private final Tokens tokens;

    private Monolith(Service service) throws ConfigError {
        this.service = service;
        this.tokens = new Tokens(service.config.neededSecret());
    }

    public static void main(String[] arguments) {
        Run.main("monolith", arguments, service -> {
            Api api = new Monolith(service).api();
            return new HttpServer(service, api, parts(service.config.threads * PARTS_A_WORKER));
        });
    }

    /** If all threads are busy, the asking thread runs the part, so that no part waits for a thread. */
    private static Executor parts(int threads) {
        return new ThreadPoolExecutor(
                0, threads, 1, TimeUnit.MINUTES, new SynchronousQueue<>(), new ThreadPoolExecutor.CallerRunsPolicy());
    }

    private Api api() throws ConfigError, IOException {
        Videos.Iface videos = new VideosHandler(service, service.store("movies"), service.cache("movies"));
        UpdateMovieHandler updateMovie = new UpdateMovieHandler(service, service.store("movies"), service.cache("movies"));
        ReviewStorage.Iface storage = new ReviewStorageHandler(service, service.store("reviews"), service.cache("reviews"));
        MovieReview.Iface movieReview =
                new MovieReviewHandler(service, service.store("reviews"), service.cache("reviews"), updateMovie);
        UserReviewHandler userReview = new UserReviewHandler(service, service.store("users"), service.cache("users"));
        ComposeReview.Iface review = new ComposeReviewHandler(
                service,
                storage,
                movieReview,
                userReview,
                // Parts are lost only together with the request that they are of.
                Clock.now());
        Api.Services services = new Api.Services(
                page(videos, new ReviewsHandler(service, movieReview, storage)),
                rent(videos),
                new UniqueIdHandler(service, new Ids(service.config.instance), review),
                new MovieIdHandler(service, service.store("movies"), service.cache("movies"), review),
                new TextHandler(service, review),
                new ReviewRatingHandler(service, review),
                new UserHandler(service, service.store("users"), review, tokens),
                new SearchHandler(service, Models.indexInMemory(service)),
                Models.ads(service),
                userReview,
                storage);
        return new Api(service, services, tokens, service.limitOf("ads"));
    }

    private ComposePage.Iface page(Videos.Iface videos, ReviewsHandler reviews) throws ConfigError {
        return new ComposePageHandler(
                service,
                new ComposePageHandler.Sources(
                        new MovieInfoHandler(service, service.store("movies"), service.cache("movies")),
                        new PlotHandler(service, service.store("movies"), service.cache("movies")),
                        new ThumbnailHandler(service, service.store("movies"), service.cache("movies")),
                        new RatingHandler(service, service.store("movies"), service.cache("movies")),
                        new CastInfoHandler(service, service.store("movies"), service.cache("movies")),
                        reviews,
                        new PhotosHandler(service, service.store("movies"), service.cache("movies")),
                        videos,
                        Models.recommender(service)));
    }

    private RentMovie.Iface rent(Videos.Iface videos) throws ConfigError {
        return new RentMovieHandler(
                service,
                service.store("users"),
                videos,
                new UserAuthHandler(service, service.store("users"), tokens),
                new SignedAddress(service.config.neededSecret()));
    }
}
