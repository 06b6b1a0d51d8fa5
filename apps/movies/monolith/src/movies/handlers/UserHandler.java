package movies.handlers;

import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Locale;
import java.util.regex.Pattern;
import movies.chassis.Checks;
import movies.chassis.Clock;
import movies.chassis.ConfigError;
import movies.chassis.Documents;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Service;
import movies.chassis.Store;
import movies.idl.Code;
import movies.idl.ComposeReview;
import movies.idl.Part;
import movies.idl.PartKind;
import movies.idl.Refused;
import movies.idl.Token;
import movies.idl.User;
import org.apache.thrift.TException;

/** Signs users up and in, and tells who writes a review. */
public final class UserHandler extends Handler implements User.Iface {
    /** ASCII, so that two names never look the same; lower case decides whether one is taken. */
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{1,31}");
    private static final int SHORTEST_PASSWORD = 8;
    /** For some five rentals; a user adds more. Users of the data set begin with 1 000 000.00, which no load spends. Units: cents. */
    private static final long START_BALANCE = 2_000;

    /** Of a name that is none, and of an address of IPv6 with its zone. Units: bytes. */
    private static final int LONGEST_NAME = 64;
    private static final int LONGEST_SOURCE = 64;
    /** Also removes the tokens of the user that have expired since. */
    private static final String END = """
            WITH old AS (DELETE FROM ended WHERE id > ? AND id < ? AND (doc->>'expires_s')::bigint < ?)
            INSERT INTO ended (id, doc) VALUES (?, jsonb_build_object('expires_s', ?::bigint)) ON CONFLICT DO NOTHING""";

    private final Throttle throttle = new Throttle();
    private final Store store;
    private final ComposeReview.Iface reviews;
    private final Tokens tokens;
    private final Passwords passwords;

    public UserHandler(Service service, Store store, ComposeReview.Iface reviews, Tokens tokens) throws ConfigError {
        this.passwords = new Passwords(service.config);
        this.store = store;
        this.reviews = reviews;
        this.tokens = tokens;
    }

    /** Stores the account first and then who has the name, so that a name always leads to an account. */
    @Override
    public long signUp(String name, String password, String source) throws Refused, Failure {
        if (!NAME.matcher(name).matches()) {
            throw new Refused(
                    Code.BAD_REQUEST,
                    "a name has 2 to 32 letters, digits, `.`, `_` or `-` of ASCII and begins with a letter or digit; it has "
                            + name.getBytes(StandardCharsets.UTF_8).length + " bytes");
        }
        Checks.range("the size of a password", password.getBytes(StandardCharsets.UTF_8).length, SHORTEST_PASSWORD, Passwords.LONGEST);
        Checks.range("the size of a source", source.length(), 0, LONGEST_SOURCE);
        long waitS = throttle.signUp(source, Clock.now());
        if (waitS > 0) {
            throw new Refused(Code.TOO_MANY, "too many sign-ups; try again in " + waitS + " s");
        }
        String id = name.toLowerCase(Locale.ROOT);
        if (store.get("names", id) != null) {
            throw taken(name);
        }
        String hash = passwords.hash(password);
        long user = store.next("user_ids");
        JsonObject account = new JsonObject();
        account.addProperty("user", user);
        account.addProperty("name", name);
        account.addProperty("hash", hash);
        account.addProperty("balance_cents", START_BALANCE);
        store.insert("users", Long.toString(user), account.toString());
        JsonObject owner = new JsonObject();
        owner.addProperty("user", user);
        // A duplicate means that another request was faster, or that this insert was repeated because its first
        // answer was lost.
        if (store.insert("names", id, owner.toString()) || userOf(id) == user) {
            return user;
        }
        store.delete("users", Long.toString(user));
        throw taken(name);
    }

    private static Refused taken(String name) {
        return new Refused(Code.CONFLICT, "the name " + name + " is taken");
    }

    /** Says neither by its answer nor by its time whether a name exists. */
    @Override
    public Token login(String name, String password, String source) throws Refused, Failure {
        int size = name.getBytes(StandardCharsets.UTF_8).length;
        if (size > LONGEST_NAME || source.length() > LONGEST_SOURCE) {
            throw new Refused(
                    Code.BAD_REQUEST,
                    "the name has " + size + " bytes and the source " + source.length() + ", and may have " + LONGEST_NAME + " and " + LONGEST_SOURCE);
        }
        String from = name.toLowerCase(Locale.ROOT);
        long waitS = throttle.begin(from, source, Clock.now());
        if (waitS > 0) {
            throw new Refused(Code.TOO_MANY, "too many wrong passwords; try again in " + waitS + " s");
        }
        String found;
        try {
            // Asked for an unknown name, too, whose user 0 does not exist, so that it takes as long.
            found = NAME.matcher(name).matches() ? store.get("users", Long.toString(userOf(from))) : null;
        } catch (Failure failure) {
            throttle.unchecked(from, source);
            throw failure;
        }
        JsonObject account = Documents.parse(String.valueOf(found));
        String hash = account == null ? "" : Documents.text(account, "hash");
        boolean isShort = password.getBytes(StandardCharsets.UTF_8).length <= Passwords.LONGEST;
        if (!isShort || !passwords.check(hash, password)) {
            throttle.failed(from, source, Clock.now());
            throw new Refused(Code.UNAUTHORIZED, "the name or the password is wrong");
        }
        throttle.succeeded(from, source);
        long user = Documents.number(account, "user");
        long expiresS = Instant.now().getEpochSecond() + Tokens.LIFE_S;
        return new Token(tokens.make(user, expiresS), user, expiresS);
    }

    /** 0 if the name is unknown. */
    private long userOf(String id) throws Failure {
        JsonObject owner = Documents.parse(String.valueOf(store.get("names", id)));
        return owner == null ? 0 : Documents.number(owner, "user");
    }

    /** The row is kept until the user's next log-out after the token's expiry. */
    @Override
    public void logout(String token) throws TException {
        String user = Long.toString(tokens.user(token));
        String id = Tokens.id(token);
        long expiresS = Long.parseLong(id.split("#")[1]);
        store.update(user, END, user + "#", user + "$", Instant.now().getEpochSecond(), id, expiresS);
    }

    @Override
    public long check(String token) throws TException {
        return tokens.user(token, store);
    }

    /** The part of a review that says whose it is. */
    @Override
    public long upload(long request, String token) throws TException {
        long user = check(token);
        reviews.put(request, new Part(PartKind.USER, user, ""));
        return user;
    }
}
