package movies.handlers;

import java.io.IOException;
import java.util.List;
import movies.chassis.Checks;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.idl.Hit;
import movies.idl.Hits;
import movies.idl.Refused;
import movies.idl.Search;

/** Finds films by the words of their titles, genres, directors and plots. */
public final class SearchHandler extends Handler implements Search.Iface {
    /** As in the C++ service. */
    private static final int LAST_START = 100_000;

    private final FilmIndex films;

    public SearchHandler(FilmIndex films) {
        this.films = films;
    }

    @Override
    public Hits find(String query, int start, int n) throws Refused, Failure {
        Checks.range("start", start, 0, LAST_START);
        Checks.range("n", n, 0, Checks.MOST_LISTED);
        Checks.size("query", query, Checks.LONGEST_LINE);
        try {
            return films.find(query, start, n);
        } catch (IOException error) {
            throw new Failure.Unavailable("index: " + error.getMessage());
        }
    }

    @Override
    public List<Hit> titles(List<Long> movies) throws Refused {
        Checks.listed("movies", movies.size());
        return films.titles(movies);
    }
}
