package movies.handlers;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import movies.chassis.Checks;
import movies.chassis.Handler;
import movies.chassis.Later;
import movies.chassis.Request;
import movies.chassis.Service;
import movies.idl.CastInfo;
import movies.idl.ComposePage;
import movies.idl.Info;
import movies.idl.MovieInfo;
import movies.idl.MovieRecommender;
import movies.idl.Page;
import movies.idl.Person;
import movies.idl.Photos;
import movies.idl.Plot;
import movies.idl.Rating;
import movies.idl.RatingService;
import movies.idl.Review;
import movies.idl.Reviews;
import movies.idl.Thumbnail;
import movies.idl.Video;
import movies.idl.Videos;
import org.apache.thrift.TException;

/** Requests all parts of a film's page at once. */
public final class ComposePageHandler extends Handler implements ComposePage.Iface {
    /** How many similar films a page shows: one row of it. */
    private static final int SIMILAR = 10;
    /** Parts get this share of the remaining time, so that a page without a slow part is still in time. */
    private static final int SHARE_NUMERATOR = 9;
    private static final int SHARE_DENOMINATOR = 10;

    /** The services that have the parts. */
    public record Sources(
            MovieInfo.Iface info,
            Plot.Iface plot,
            Thumbnail.Iface thumbnail,
            RatingService.Iface rating,
            CastInfo.Iface cast,
            Reviews.Iface reviews,
            Photos.Iface photos,
            Videos.Iface videos,
            MovieRecommender.Iface recommender) {}

    private final Service service;
    private final Sources sources;

    public ComposePageHandler(Service service, Sources sources) {
        this.service = service;
        this.sources = sources;
    }

    @Override
    public Page compose(long movie, long user, int start, int n) throws TException {
        Checks.page(start, n);
        // First, since the other calls need its answer; without it the page fails.
        Info info = sources.info.read(movie);
        int photos = Math.min(Math.max(0, info.getPhotos()), Checks.MOST_LISTED);
        List<Long> cast = info.getCast().subList(0, Math.min(info.getCastSize(), Checks.MOST_LISTED));
        Asked asked = new Asked();
        Later<String> plot = asked.ask("plot", sources.plot, one -> one.read(movie));
        Later<ByteBuffer> thumbnail = asked.ask("thumbnail", sources.thumbnail, one -> one.read(movie));
        Later<Rating> rating = asked.ask("rating", sources.rating, one -> one.read(movie));
        Later<List<Person>> persons = asked.ask("cast-info", sources.cast, one -> one.read(cast));
        Later<List<Review>> reviews = asked.ask("reviews", sources.reviews, one -> one.page(movie, start, n));
        Later<List<ByteBuffer>> pictures = asked.ask("photos", sources.photos, one -> one.read(movie, photos));
        Later<Video> video = asked.ask("videos", sources.videos, one -> one.read(movie));
        Later<List<Long>> similar = asked.ask("movie-recommender", sources.recommender, one -> one.like(user, movie, SIMILAR));
        Page page = new Page()
                .setInfo(info)
                .setPlot(asked.or(plot, ""))
                .setThumbnail(asked.or(thumbnail, ByteBuffer.allocate(0)))
                .setRating(asked.or(rating, new Rating(0, 0)))
                .setCast(asked.or(persons, List.of()))
                .setReviews(asked.or(reviews, List.of()))
                .setPhotos(asked.or(pictures, List.of()))
                .setVideo(asked.or(video, null))
                .setSimilar(asked.or(similar, List.of()))
                .setMissing(asked.missing);
        service.degraded(asked.missing.size());
        return page;
    }

    /** The calls for the parts of one page, each of which may fail. */
    private static final class Asked {
        private final long end = Request.after(SHARE_NUMERATOR, SHARE_DENOMINATOR);
        private final List<Later<?>> all = new ArrayList<>();
        private final List<String> names = new ArrayList<>();
        final List<String> missing = new ArrayList<>();

        <I, T> Later<T> ask(String name, I service, Later.Question<I, T> question) {
            Later<T> later = Later.ask(service, end, question);
            all.add(later);
            names.add(name);
            return later;
        }

        /** The answer, or `otherwise` if it failed; the part is then missing. */
        <T> T or(Later<T> later, T otherwise) {
            try {
                return later.get();
            } catch (TException failed) {
                missing.add(names.get(all.indexOf(later)));
                return otherwise;
            }
        }
    }
}
