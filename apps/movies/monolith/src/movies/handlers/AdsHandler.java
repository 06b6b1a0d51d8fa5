package movies.handlers;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import movies.chassis.Checks;
import movies.chassis.Handler;
import movies.idl.Ad;
import movies.idl.Ads;
import movies.idl.Refused;

/** Picks advertisements: first those in the film's genre, among them the best match for the user. */
public final class AdsHandler extends Handler implements Ads.Iface {
    /**
     * Weight of the film's genre. Factors of users and weights of advertisements are about 1 long, so their product is below it and
     * only orders advertisements within a genre.
     */
    private static final double GENRE = 2;

    /** Factors of a user, or else of a film; none if neither is known. */
    public interface Tastes {
        float[] of(long user, long movie);
    }

    private record Scored(double score, Ad ad) {}

    private final Supplier<Advertisements> model;
    private final Tastes tastes;
    private final Map<Long, String> genres;

    /** `model`, `tastes`: the newest. `genres`: of films. */
    public AdsHandler(Supplier<Advertisements> model, Tastes tastes, Map<Long, String> genres) {
        this.model = model;
        this.tastes = tastes;
        this.genres = genres;
    }

    @Override
    public List<Ad> pick(long user, long movie, int n) throws Refused {
        Checks.range("n", n, 0, Checks.MOST_LISTED);
        Checks.range("user", user, 0, Long.MAX_VALUE);
        Checks.range("movie", movie, 0, Long.MAX_VALUE);
        Advertisements known = model.get();
        float[] taste = tastes.of(user, movie);
        String genre = genres.get(movie);
        // A model of another rank belongs to other factors, whose file comes later.
        boolean fits = taste.length == known.rank();
        return known.rows().stream()
                .map(row -> new Scored((row.genre().equals(genre) ? GENRE : 0) + (fits ? product(row.weights(), taste) : 0), row.ad()))
                .sorted(Comparator.comparingDouble(Scored::score).reversed().thenComparing(one -> one.ad.getAd()))
                .limit(n)
                .map(Scored::ad)
                .toList();
    }

    private static double product(float[] one, float[] other) {
        float sum = 0;
        for (int at = 0; at < one.length; at++) {
            sum += one[at] * other[at];
        }
        return sum;
    }
}
