package movies.rentmovie;

import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import movies.chassis.Checks;
import movies.chassis.Documents;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Later;
import movies.chassis.SignedAddress;
import movies.chassis.Store;
import movies.idl.Account;
import movies.idl.Balance;
import movies.idl.Charge;
import movies.idl.Code;
import movies.idl.Refused;
import movies.idl.RentMovie;
import movies.idl.Ticket;
import movies.idl.UserAuth;
import movies.idl.Video;
import movies.idl.Videos;
import org.apache.thrift.TException;

/**
 * Rents films: a user pays once for a film while the rental is valid.
 *
 * <p>The row of user and film holds the last rental, and its number. The next one is charged with a key of film and number, so that all
 * who ask at once, or again after a crash between charge and row, ask for the same charge.
 */
public final class RentMovieHandler extends Handler implements RentMovie.Iface {
    /** Of a key, which is kept with the rental. Units: bytes. */
    private static final int LONGEST_KEY = 64;
    /** Changes nothing where another request was first. */
    private static final String KEEP = """
            WITH seen AS (INSERT INTO seen (id) VALUES (?) ON CONFLICT DO NOTHING)
            INSERT INTO rentals AS r (id, doc) VALUES (?, ?::jsonb)
            ON CONFLICT (id) DO UPDATE SET doc = excluded.doc WHERE (r.doc->>'number')::bigint < (excluded.doc->>'number')::bigint""";

    private final Store store;
    private final Videos.Iface videos;
    private final UserAuth.Iface userAuth;
    private final SignedAddress addresses;

    public RentMovieHandler(Store store, Videos.Iface videos, UserAuth.Iface userAuth, SignedAddress addresses) {
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
        String id = user + "#" + video.getMovie();
        Rental last = Rental.of(store.get("rentals", id));
        if (last != null && (last.isValid() || last.key.equals(key))) {
            return ticket(user, last, true);
        }
        long number = last == null ? 1 : last.number + 1;
        Charge charge = userAuth.charge(token, video.getCents(), video.getMovie() + "." + number);
        if (charge.getUser() != user) {
            throw new Failure.Unavailable("user-auth: it checked the token of user " + user + ", and charged " + charge.getUser());
        }
        Rental rental = new Rental(
                video.getMovie(), video.getClip(), video.getCents(), Instant.now().getEpochSecond() + SignedAddress.LIFE_S,
                charge.getBalance_cents(), key, number);
        if (store.update(Long.toString(user), KEEP, id, id, rental.document()) == 0) {
            rental = Rental.of(store.get("rentals", id));
            if (rental == null) {
                throw new Failure.Unavailable("users-db: a rental is gone that was there");
            }
        }
        return ticket(user, rental, charge.isRepeated());
    }

    private Ticket ticket(long user, Rental rental, boolean isRepeated) {
        String url = addresses.of(user, rental.expiresS, rental.clip);
        return new Ticket(url, rental.expiresS, rental.cents, rental.balanceCents, isRepeated);
    }

    @Override
    public Account account(String token, int start, int n) throws TException {
        Checks.page(start, n);
        Balance balance = userAuth.balance(token);
        long user = balance.getUser();
        List<movies.idl.Rental> rentals = new ArrayList<>();
        for (String document : store.page("rentals", Long.toString(user), "expires_s", start, n)) {
            Rental rental = Rental.of(document);
            if (rental != null) {
                String url = rental.isValid() ? addresses.of(user, rental.expiresS, rental.clip) : "";
                rentals.add(new movies.idl.Rental(rental.movie, rental.cents, rental.expiresS, url));
            }
        }
        return new Account(balance.getBalance_cents(), rentals);
    }

    @Override
    public Charge deposit(String token, int cents, String key) throws TException {
        return userAuth.deposit(token, cents, key);
    }

    /** A row of `rentals`. */
    private record Rental(long movie, String clip, int cents, long expiresS, long balanceCents, String key, long number) {
        /** Null if there is none. */
        static Rental of(String text) {
            JsonObject document = Documents.parse(String.valueOf(text));
            return document == null
                    ? null
                    : new Rental(
                            Documents.number(document, "movie"),
                            Documents.text(document, "clip"),
                            (int) Documents.number(document, "cents"),
                            Documents.number(document, "expires_s"),
                            Documents.number(document, "balance_cents"),
                            Documents.text(document, "key"),
                            Documents.number(document, "number"));
        }

        String document() {
            JsonObject document = new JsonObject();
            document.addProperty("movie", movie);
            document.addProperty("clip", clip);
            document.addProperty("cents", cents);
            document.addProperty("expires_s", expiresS);
            document.addProperty("balance_cents", balanceCents);
            document.addProperty("key", key);
            document.addProperty("number", number);
            return document.toString();
        }

        boolean isValid() {
            return expiresS > Instant.now().getEpochSecond();
        }
    }
}
