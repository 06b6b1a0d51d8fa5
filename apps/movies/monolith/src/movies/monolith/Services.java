package movies.monolith;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.stream.Stream;
import movies.castinfo.CastInfoHandler;
import movies.chassis.ConfigError;
import movies.chassis.Handler;
import movies.chassis.Run;
import movies.chassis.Server;
import movies.chassis.Service;
import movies.chassis.SignedAddress;
import movies.handlers.*;
import movies.http.Api;
import movies.http.HttpServer;
import movies.idl.*;
import movies.movieinfo.MovieInfoHandler;
import movies.movierecommender.Factors;
import movies.movierecommender.MovieRecommenderHandler;
import movies.movierecommender.Newest;
import movies.moviereview.MovieReviewHandler;
import movies.rentmovie.RentMovieHandler;
import movies.userreview.UserReviewHandler;
import org.apache.lucene.store.FSDirectory;

/** Makes the handlers of all services, and runs one of them in a process of its own. */
public final class Services {
    /** Where a handler finds the services that it asks. */
    interface Callees {
        <I> I of(String name, Class<I> iface) throws ConfigError, IOException;
    }

    private Services() {}

    /** NAME CONFIGFILE, or: search --index CATALOGUE FOLDER. The service `front` takes the place of `php`. */
    public static void main(String[] arguments) {
        String name = arguments.length > 0 ? arguments[0] : "";
        String[] others = Arrays.copyOfRange(arguments, Math.min(1, arguments.length), arguments.length);
        if (name.equals("search") && others.length == 3 && others[0].equals("--index")) {
            System.exit(makeIndex(Path.of(others[1]), Path.of(others[2])));
        }
        Run.main(name, others, service -> name.equals("front")
                ? new HttpServer(service, api(service, service::upstream), null)
                : new Server(service, handler(name, service, service::upstream)));
    }

    /** Makes the handler of a service. */
    static Handler handler(String name, Service service, Callees callees) throws ConfigError, IOException {
        return switch (name) {
            case "ads" -> ads(service);
            case "cast-info" -> new CastInfoHandler(service.store("movies"), service.cache("movies"));
            case "compose-page" -> new ComposePageHandler(
                    service,
                    new ComposePageHandler.Sources(
                            callees.of("movie-info", MovieInfo.Iface.class),
                            callees.of("plot", Plot.Iface.class),
                            callees.of("thumbnail", Thumbnail.Iface.class),
                            callees.of("rating", RatingService.Iface.class),
                            callees.of("cast-info", CastInfo.Iface.class),
                            callees.of("reviews", Reviews.Iface.class),
                            callees.of("photos", Photos.Iface.class),
                            callees.of("videos", Videos.Iface.class),
                            callees.of("movie-recommender", MovieRecommender.Iface.class)));
            case "compose-review" -> composeReview(callees, service.settle(ComposeReviewHandler.SETTLE_NS));
            case "movie-id" -> new MovieIdHandler(service.store("movies"), service.cache("movies"), reviews(callees));
            case "movie-info" -> new MovieInfoHandler(service.store("movies"), service.cache("movies"));
            case "movie-recommender" -> new MovieRecommenderHandler(service.store("users"), factors(service)::value);
            case "movie-review" -> new MovieReviewHandler(
                    service.store("reviews"), service.cache("reviews"), callees.of("update-movie", UpdateMovie.Iface.class));
            case "photos" -> new PhotosHandler(service.store("movies"), service.cache("movies"));
            case "plot" -> new PlotHandler(service.store("movies"), service.cache("movies"));
            case "rating" -> new RatingHandler(service.store("movies"), service.cache("movies"));
            case "rent-movie" -> new RentMovieHandler(
                    service.store("users"),
                    callees.of("videos", Videos.Iface.class),
                    callees.of("user-auth", UserAuth.Iface.class),
                    new SignedAddress(service.config.neededSecret()));
            case "review-rating" -> new ReviewRatingHandler(reviews(callees));
            case "review-storage" -> new ReviewStorageHandler(service.store("reviews"), service.cache("reviews"));
            case "reviews" -> new ReviewsHandler(
                    callees.of("movie-review", MovieReview.Iface.class), callees.of("review-storage", ReviewStorage.Iface.class));
            case "search" -> new SearchHandler(new FilmIndex(FSDirectory.open(service.config.neededData().resolve("index"))));
            case "text" -> new TextHandler(reviews(callees));
            case "thumbnail" -> new ThumbnailHandler(service.store("movies"), service.cache("movies"));
            case "unique-id" -> new UniqueIdHandler(new Ids(service.config.instance), reviews(callees));
            case "update-movie" -> new UpdateMovieHandler(service.store("movies"), service.cache("movies"));
            case "user" -> new UserHandler(service, service.store("users"), reviews(callees), tokens(service));
            case "user-auth" -> new UserAuthHandler(service.store("users"), tokens(service));
            case "user-review" -> new UserReviewHandler(service.store("users"), service.cache("users"));
            case "videos" -> new VideosHandler(service.store("movies"), service.cache("movies"));
            default -> throw new ConfigError("`" + name + "` is not a service in Java");
        };
    }

    static Api api(Service service, Callees callees) throws ConfigError, IOException {
        Api.Services services = new Api.Services(
                callees.of("compose-page", ComposePage.Iface.class),
                callees.of("rent-movie", RentMovie.Iface.class),
                callees.of("unique-id", UniqueId.Iface.class),
                callees.of("movie-id", MovieIdService.Iface.class),
                callees.of("text", Text.Iface.class),
                callees.of("review-rating", ReviewRating.Iface.class),
                callees.of("user", User.Iface.class),
                callees.of("search", Search.Iface.class),
                callees.of("ads", Ads.Iface.class),
                callees.of("user-review", UserReview.Iface.class),
                callees.of("review-storage", ReviewStorage.Iface.class));
        return new Api(service, services, tokens(service), service.config.limitOf("ads"));
    }

    static ComposeReviewHandler composeReview(Callees callees, long settledAt) throws ConfigError, IOException {
        return new ComposeReviewHandler(
                callees.of("review-storage", ReviewStorage.Iface.class),
                callees.of("movie-review", MovieReview.Iface.class),
                callees.of("user-review", UserReview.Iface.class),
                settledAt);
    }

    private static ComposeReview.Iface reviews(Callees callees) throws ConfigError, IOException {
        return callees.of("compose-review", ComposeReview.Iface.class);
    }

    private static AdsHandler ads(Service service) throws ConfigError, IOException {
        Path folder = service.config.neededData();
        Newest<Advertisements> model =
                new Newest<>(folder, ".ads", Advertisements::read, Advertisements.NONE, service.log);
        Newest<Factors> factors = factors(service);
        return new AdsHandler(
                model::value, (user, movie) -> factors.value().row(user, movie), Advertisements.genres(folder.resolve("catalogue.tsv")));
    }

    private static Newest<Factors> factors(Service service) throws ConfigError {
        return new Newest<>(service.config.neededData(), ".factors", Factors::read, Factors.none(), service.log);
    }

    private static Tokens tokens(Service service) throws ConfigError {
        return new Tokens(service.config.neededSecret());
    }

    /** The folder is there as a whole or not at all. Returns the exit status. */
    private static int makeIndex(Path catalogue, Path folder) {
        Path made = folder.resolveSibling(folder.getFileName() + ".new");
        try {
            remove(made);
            try (FSDirectory directory = FSDirectory.open(made)) {
                System.out.println(FilmIndex.make(catalogue, directory) + " films");
            }
            remove(folder);
            Files.move(made, folder, StandardCopyOption.ATOMIC_MOVE);
            return 0;
        } catch (IOException error) {
            System.err.println("movies-java-search: " + error.getMessage());
            return 1;
        }
    }

    private static void remove(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(folder);
    }
}
