package movies.rentmovie;

import movies.chassis.Run;
import movies.chassis.SignedAddress;
import movies.idl.RentMovie;
import movies.idl.UserAuth;
import movies.idl.Videos;

/** The service rent-movie. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        Run.main("rent-movie", arguments, RentMovie.Processor<RentMovie.Iface>::new, service ->
                new RentMovieHandler(
                        service,
                        service.store("users"),
                        service.upstream("videos", Videos.Iface.class, new Videos.Client.Factory()),
                        service.upstream("user-auth", UserAuth.Iface.class, new UserAuth.Client.Factory()),
                        new SignedAddress(service.config.neededSecret())));
    }
}
