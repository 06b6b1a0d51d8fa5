package movies.movieinfo;

import movies.chassis.Run;
import movies.idl.MovieInfo;

/** The service movie-info. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        Run.main("movie-info", arguments, MovieInfo.Processor<MovieInfo.Iface>::new, service ->
                new MovieInfoHandler(service, service.store("movies"), service.cache("movies")));
    }
}
