package movies.monolith;

import movies.chassis.ConfigError;
import movies.chassis.Run;
import movies.chassis.Service;
import movies.handlers.Tokens;
import movies.http.Api;
import movies.http.HttpServer;
import movies.idl.Ads;
import movies.idl.ComposePage;
import movies.idl.MovieIdService;
import movies.idl.RentMovie;
import movies.idl.ReviewRating;
import movies.idl.ReviewStorage;
import movies.idl.Search;
import movies.idl.Text;
import movies.idl.UniqueId;
import movies.idl.User;
import movies.idl.UserReview;

/** The counterpart of `php`: it answers the HTTP interface, and calls the services. */
public final class Front {
    private Front() {}

    public static void main(String[] arguments) {
        Run.main("front", arguments, service ->
                new HttpServer(
                        service,
                        new Api(service, services(service), new Tokens(service.config.neededSecret()), service.limitOf("ads")),
                        null));
    }

    private static Api.Services services(Service service) throws ConfigError {
        return new Api.Services(
                service.upstream("compose-page", ComposePage.Iface.class, new ComposePage.Client.Factory()),
                service.upstream("rent-movie", RentMovie.Iface.class, new RentMovie.Client.Factory()),
                service.upstream("unique-id", UniqueId.Iface.class, new UniqueId.Client.Factory()),
                service.upstream("movie-id", MovieIdService.Iface.class, new MovieIdService.Client.Factory()),
                service.upstream("text", Text.Iface.class, new Text.Client.Factory()),
                service.upstream("review-rating", ReviewRating.Iface.class, new ReviewRating.Client.Factory()),
                service.upstream("user", User.Iface.class, new User.Client.Factory()),
                service.upstream("search", Search.Iface.class, new Search.Client.Factory()),
                service.upstream("ads", Ads.Iface.class, new Ads.Client.Factory()),
                service.upstream("user-review", UserReview.Iface.class, new UserReview.Client.Factory()),
                service.upstream("review-storage", ReviewStorage.Iface.class, new ReviewStorage.Client.Factory()));
    }
}
