package movies.rentmovie;

import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import movies.chassis.Checks;
import movies.chassis.Documents;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Later;
import movies.chassis.SignedAddress;
import movies.chassis.Store;
import movies.idl.Charge;
import movies.idl.Chassis;
import movies.idl.Code;
import movies.idl.Refused;
import movies.idl.RentMovie;
import movies.idl.Ticket;
import movies.idl.UserAuth;
import movies.idl.Video;
import movies.idl.Videos;
import org.apache.thrift.TException;

/**
 * Rents films, once for each key of a user.
 *
 * <p>A crash between two steps: before the charge, nothing was done. After it, the same key is charged again, which takes
 * nothing. After the rental was inserted, the answer is that rental, with its expiry and its price.
 */
public final class RentMovieHandler extends Handler implements RentMovie.Iface {
    /** A key is part of an id in the database; user-auth has the same limit. Units: bytes. */
    private static final int LONGEST_KEY = 64;

    private final Store store;
    private final Videos.Iface videos;
    private final UserAuth.Iface userAuth;
    private final SignedAddress addresses;

    public RentMovieHandler(
            Chassis.Iface process, Store store, Videos.Iface videos, UserAuth.Iface userAuth, SignedAddress addresses) {
        super(process);
        this.store = store;
        this.videos = videos;
        this.userAuth = userAuth;
        this.addresses = addresses;
    }

    @Override
    public Ticket rent(String token, long movie, String key) throws TException {
        Checks.number("movie", movie);
        int size = key.getBytes(StandardCharsets.UTF_8).length;
        if (size < 1 || size > LONGEST_KEY || key.indexOf('\0') >= 0) {
            throw new Refused(Code.BAD_REQUEST, "a key has " + size + " bytes, and takes 1 to " + LONGEST_KEY + ", none of them 0");
        }
        try (Later<Long> user = Later.ask(userAuth, asked -> asked.check(token));
                Later<Video> video = Later.ask(videos, asked -> asked.read(movie))) {
            // Check the user first, so that strangers learn nothing about films.
            long renter = user.get();
            return rent(token, renter, video.get(), key);
        }
    }

    private Ticket rent(String token, long user, Video video, String key) throws TException {
        String id = user + ":" + key;
        Rental rental = rental(id);
        if (rental != null) {
            rental.check(video, key);
        }
        int cents = rental != null ? rental.cents : video.getCents();
        Charge charge = userAuth.charge(token, cents, key);
        if (charge.getUser() != user) {
            throw new Failure.Unavailable("user-auth: it checked the token of user " + user + ", and charged " + charge.getUser());
        }
        if (rental == null) {
            rental = insert(id, new Rental(video.getMovie(), Instant.now().getEpochSecond() + SignedAddress.LIFE_S, cents));
            rental.check(video, key);
        }
        String url = addresses.of(user, rental.expiresS, video.getClip());
        return new Ticket(url, rental.expiresS, rental.cents, charge.getBalance_cents(), charge.isRepeated());
    }

    /** The row in `rentals` afterwards: another request with the same key may have been first. */
    private Rental insert(String id, Rental rental) throws TException {
        JsonObject document = new JsonObject();
        document.addProperty("movie", rental.movie);
        document.addProperty("expires_s", rental.expiresS);
        document.addProperty("cents", rental.cents);
        if (store.insert("rentals", id, document.toString())) {
            return rental;
        }
        Rental first = rental(id);
        if (first == null) {
            throw new Failure.Unavailable("users-db: a rental is gone that was there");
        }
        return first;
    }

    private Rental rental(String id) throws Failure {
        JsonObject document = Documents.parse(String.valueOf(store.get("rentals", id)));
        return document == null
                ? null
                : new Rental(
                        Documents.number(document, "movie"),
                        Documents.number(document, "expires_s"),
                        (int) Documents.number(document, "cents"));
    }

    private record Rental(long movie, long expiresS, int cents) {
        void check(Video video, String key) throws Refused {
            if (movie != video.getMovie()) {
                throw new Refused(Code.CONFLICT, "key `" + key + "` was used for film " + movie + ", and not for " + video.getMovie());
            }
        }
    }
}
