package movies.monolith;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import movies.chassis.ConfigError;
import movies.chassis.Run;
import movies.chassis.Service;
import movies.handlers.ComposePageHandler;
import movies.handlers.ComposeReviewHandler;
import movies.handlers.FilmIndex;
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
import movies.idl.Ads;
import movies.idl.CastInfo;
import movies.idl.ComposePage;
import movies.idl.ComposeReview;
import movies.idl.MovieIdService;
import movies.idl.MovieInfo;
import movies.idl.MovieRecommender;
import movies.idl.MovieReview;
import movies.idl.Photos;
import movies.idl.Plot;
import movies.idl.RatingService;
import movies.idl.ReviewRating;
import movies.idl.ReviewStorage;
import movies.idl.Reviews;
import movies.idl.Search;
import movies.idl.Text;
import movies.idl.Thumbnail;
import movies.idl.UniqueId;
import movies.idl.UpdateMovie;
import movies.idl.User;
import movies.idl.UserAuth;
import movies.idl.UserReview;
import movies.idl.Videos;
import org.apache.lucene.store.FSDirectory;

/** One class of the monolith as a service of its own: a Java version of a service in another language. */
public final class Twin {
    private static final Map<String, Consumer<String[]>> ALL = new TreeMap<>();

    static {
        add("compose-page", ComposePage.Processor<ComposePage.Iface>::new, Twin::composePage);
        add("plot", Plot.Processor<Plot.Iface>::new, one -> new PlotHandler(one, one.store("movies"), one.cache("movies")));
        add("thumbnail", Thumbnail.Processor<Thumbnail.Iface>::new, one ->
                new ThumbnailHandler(one, one.store("movies"), one.cache("movies")));
        add("rating", RatingService.Processor<RatingService.Iface>::new, one ->
                new RatingHandler(one, one.store("movies"), one.cache("movies")));
        add("reviews", Reviews.Processor<Reviews.Iface>::new, one -> new ReviewsHandler(one, movieReview(one), reviewStorage(one)));
        add("photos", Photos.Processor<Photos.Iface>::new, one -> new PhotosHandler(one, one.store("movies"), one.cache("movies")));
        add("videos", Videos.Processor<Videos.Iface>::new, one -> new VideosHandler(one, one.store("movies"), one.cache("movies")));
        add("user-auth", UserAuth.Processor<UserAuth.Iface>::new, one -> new UserAuthHandler(one, one.store("users"), tokens(one)));
        add("unique-id", UniqueId.Processor<UniqueId.Iface>::new, one ->
                new UniqueIdHandler(one, new Ids(one.config.instance), composeReview(one)));
        add("movie-id", MovieIdService.Processor<MovieIdService.Iface>::new, one ->
                new MovieIdHandler(one, one.store("movies"), one.cache("movies"), composeReview(one)));
        add("text", Text.Processor<Text.Iface>::new, one -> new TextHandler(one, composeReview(one)));
        add("review-rating", ReviewRating.Processor<ReviewRating.Iface>::new, one -> new ReviewRatingHandler(one, composeReview(one)));
        add("compose-review", ComposeReview.Processor<ComposeReview.Iface>::new, one ->
                new ComposeReviewHandler(
                        one,
                        reviewStorage(one),
                        movieReview(one),
                        one.upstream("user-review", UserReview.Iface.class, new UserReview.Client.Factory()),
                        one.settle(ComposeReviewHandler.SETTLE_NS)));
        add("review-storage", ReviewStorage.Processor<ReviewStorage.Iface>::new, one ->
                new ReviewStorageHandler(one, one.store("reviews"), one.cache("reviews")));
        add("update-movie", UpdateMovie.Processor<UpdateMovie.Iface>::new, one ->
                new UpdateMovieHandler(one, one.store("movies"), one.cache("movies")));
        add("user", User.Processor<User.Iface>::new, one -> new UserHandler(one, one.store("users"), composeReview(one), tokens(one)));
        add("search", Search.Processor<Search.Iface>::new, one -> new SearchHandler(one, Models.index(one)));
        add("ads", Ads.Processor<Ads.Iface>::new, Models::ads);
    }

    private Twin() {}

    /** NAME CONFIGFILE, or: search --index CATALOGUE FOLDER. */
    public static void main(String[] arguments) {
        String name = arguments.length > 0 ? arguments[0] : "";
        String[] others = Arrays.copyOfRange(arguments, Math.min(1, arguments.length), arguments.length);
        if (name.equals("search") && others.length == 3 && others[0].equals("--index")) {
            System.exit(makeIndex(Path.of(others[1]), Path.of(others[2])));
        }
        Consumer<String[]> program = ALL.get(name);
        if (program == null) {
            System.err.println("`" + name + "` is not a service; there are " + String.join(", ", ALL.keySet()));
            System.exit(2);
        }
        program.accept(others);
    }

    private static <H> void add(String name, Run.Processing<? super H> processing, Run.Wiring<H> wiring) {
        ALL.put(name, arguments -> Run.main(name, arguments, processing, wiring));
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

    private static ComposePageHandler composePage(Service one) throws ConfigError {
        return new ComposePageHandler(
                one,
                new ComposePageHandler.Sources(
                        one.upstream("movie-info", MovieInfo.Iface.class, new MovieInfo.Client.Factory()),
                        one.upstream("plot", Plot.Iface.class, new Plot.Client.Factory()),
                        one.upstream("thumbnail", Thumbnail.Iface.class, new Thumbnail.Client.Factory()),
                        one.upstream("rating", RatingService.Iface.class, new RatingService.Client.Factory()),
                        one.upstream("cast-info", CastInfo.Iface.class, new CastInfo.Client.Factory()),
                        one.upstream("reviews", Reviews.Iface.class, new Reviews.Client.Factory()),
                        one.upstream("photos", Photos.Iface.class, new Photos.Client.Factory()),
                        one.upstream("videos", Videos.Iface.class, new Videos.Client.Factory()),
                        one.upstream("movie-recommender", MovieRecommender.Iface.class, new MovieRecommender.Client.Factory())));
    }

    private static ComposeReview.Iface composeReview(Service one) throws ConfigError {
        return one.upstream("compose-review", ComposeReview.Iface.class, new ComposeReview.Client.Factory());
    }

    private static MovieReview.Iface movieReview(Service one) throws ConfigError {
        return one.upstream("movie-review", MovieReview.Iface.class, new MovieReview.Client.Factory());
    }

    private static ReviewStorage.Iface reviewStorage(Service one) throws ConfigError {
        return one.upstream("review-storage", ReviewStorage.Iface.class, new ReviewStorage.Client.Factory());
    }

    private static Tokens tokens(Service one) throws ConfigError {
        return new Tokens(one.config.neededSecret());
    }
}
