package movies.http;

import com.google.gson.JsonObject;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import movies.chassis.Failure;
import movies.chassis.Later;
import movies.chassis.Request;
import movies.chassis.Service;
import movies.handlers.Tokens;
import movies.idl.Ad;
import movies.idl.Ads;
import movies.idl.Code;
import movies.idl.ComposePage;
import movies.idl.MovieIdService;
import movies.idl.Page;
import movies.idl.Refused;
import movies.idl.RentMovie;
import movies.idl.ReviewRating;
import movies.idl.ReviewStorage;
import movies.idl.Search;
import movies.idl.Text;
import movies.idl.Token;
import movies.idl.UniqueId;
import movies.idl.User;
import movies.idl.UserReview;
import org.apache.thrift.TException;

/** Operations of the HTTP interface, with services in this process or behind connections. */
public final class Api {
    /** Sources of the limits: the contract of the services. Units of text limits: bytes. */
    private static final int LIST = 100;
    private static final int NAME = 32;
    private static final int SHORTEST_PASSWORD = 8;
    private static final int PASSWORD = 72;
    private static final int TEXT = 8192;
    private static final int TITLE = 256;
    private static final int KEY = 64;
    private static final int QUERY = 256;
    /** No list is longer. */
    private static final int START = 1_000_000;
    private static final int STARS = 10;
    /** Least and most that is added to a balance at once. Units: cents. */
    private static final int LEAST_DEPOSIT = 100;
    private static final int MOST_DEPOSIT = 100_00;
    /** How many advertisements a page has. */
    private static final int ADS = 3;

    /** The services that it asks. */
    public record Services(
            ComposePage.Iface page,
            RentMovie.Iface rent,
            UniqueId.Iface uniqueId,
            MovieIdService.Iface movieId,
            Text.Iface text,
            ReviewRating.Iface rating,
            User.Iface user,
            Search.Iface search,
            Ads.Iface ads,
            UserReview.Iface userReview,
            ReviewStorage.Iface reviewStorage) {}

    private final Service service;
    private final Services services;
    private final Tokens tokens;
    private final long adsLimitMs;

    /** `adsLimitMs`: how long a page waits for its advertisements; 0: until the request's deadline. */
    public Api(Service service, Services services, Tokens tokens, long adsLimitMs) {
        this.service = service;
        this.services = services;
        this.tokens = tokens;
        this.adsLimitMs = adsLimitMs;
    }

    Answer page(Asked asked, long movie) throws TException {
        long user = asked.user(tokens);
        int start = asked.queryNumber("start", 0, 0, START);
        int reviews = asked.queryNumber("reviews", 10, 0, LIST);
        try (Later<Page> composed = Later.ask(services.page, one -> one.compose(movie, user, start, reviews));
                Later<List<Ad>> picked = Later.ask(services.ads, Request.afterMs(adsLimitMs), one -> one.pick(user, movie, ADS))) {
            Page page = composed.get();
            List<String> missing = new ArrayList<>(page.getMissing());
            List<Ad> ads = optional("ads", picked, missing);
            JsonObject answer = Json.of(page).getAsJsonObject();
            answer.add("ads", Json.of(ads));
            answer.add("missing", Json.of(missing));
            return Answer.degraded(answer, missing);
        }
    }

    Answer search(Asked asked) throws TException {
        String query = asked.queryText("q", QUERY);
        return Answer.of(Json.of(services.search.find(query, start(asked), n(asked))));
    }

    Answer titles(Asked asked) throws TException {
        JsonObject answer = new JsonObject();
        answer.add("hits", Json.of(services.search.titles(asked.queryNumbers("ids", LIST))));
        return Answer.of(answer);
    }

    /** Each part of a review goes to its own service, all at once; the one that comes last to compose-review stores it. */
    Answer review(Asked asked) throws TException {
        String token = asked.userToken(tokens);
        String title = asked.fieldText("title", 1, TITLE);
        String text = asked.fieldText("text", 1, TEXT, Code.TOO_LARGE);
        int stars = (int) asked.fieldNumber("stars", 1, STARS);
        long request = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
        Later<Long> review = Later.ask(services.uniqueId, one -> one.upload(request));
        List<Later<?>> others = List.of(
                Later.ask(services.movieId, one -> one.upload(request, title)),
                Later.ask(services.text, one -> {
                    one.upload(request, text);
                    return null;
                }),
                Later.ask(services.rating, one -> {
                    one.upload(request, stars);
                    return null;
                }),
                Later.ask(services.user, one -> one.upload(request, token)));
        List<Later<?>> all = new ArrayList<>(List.of(review));
        all.addAll(others);
        awaitAll(all);
        JsonObject answer = new JsonObject();
        answer.addProperty("review", review.get());
        return Answer.of(answer);
    }

    Answer rent(Asked asked) throws TException {
        String token = asked.userToken(tokens);
        long movie = asked.fieldNumber("movie", 1, Long.MAX_VALUE);
        String key = asked.fieldText("key", 1, KEY);
        return Answer.of(Json.of(services.rent.rent(token, movie, key)));
    }

    /** The balance of the user, and a page of the rentals. */
    Answer rentals(Asked asked) throws TException {
        String token = asked.userToken(tokens);
        return Answer.of(Json.of(services.rent.account(token, start(asked), n(asked))));
    }

    Answer deposit(Asked asked) throws TException {
        String token = asked.userToken(tokens);
        int cents = (int) asked.fieldNumber("cents", LEAST_DEPOSIT, MOST_DEPOSIT);
        String key = asked.fieldText("key", 1, KEY);
        return Answer.of(Json.of(services.rent.deposit(token, cents, key)));
    }

    /** The reviews that the user has written, the newest first. */
    Answer myReviews(Asked asked) throws TException {
        long user = services.user.check(asked.userToken(tokens));
        List<Long> ids = services.userReview.page(user, start(asked), n(asked));
        JsonObject answer = new JsonObject();
        answer.add("reviews", Json.of(ids.isEmpty() ? List.of() : services.reviewStorage.readMany(ids)));
        return Answer.of(answer);
    }

    Answer login(Asked asked) throws TException {
        asked.checkOrigin();
        Token token = services.user.login(name(asked), password(asked), asked.source());
        long seconds = Math.max(0, token.getExpires_s() - Instant.now().getEpochSecond());
        return Answer.login(Json.of(token), token.getToken(), seconds);
    }

    Answer signUp(Asked asked) throws TException {
        asked.checkOrigin();
        services.user.signUp(name(asked), password(asked), asked.source());
        return login(asked);
    }

    Answer logout(Asked asked) throws TException {
        // By the rule of the cookie no other site ends a login.
        String token = asked.token();
        if (!token.isEmpty()) {
            try {
                services.user.logout(token);
            } catch (Refused ended) {
                // It has expired, or is none.
            }
        }
        return Answer.login(new JsonObject(), "", 0);
    }

    /** Whether all services were there without which nothing works. */
    Answer ready() throws TException {
        if (!service.isReady()) {
            throw new Failure.Unavailable("services that are needed have not answered yet");
        }
        JsonObject answer = new JsonObject();
        answer.addProperty("ready", true);
        return Answer.of(answer);
    }

    Answer counters() {
        JsonObject answer = new JsonObject();
        service.counters().forEach(answer::addProperty);
        return Answer.of(answer);
    }

    private static int start(Asked asked) throws Problem {
        return asked.queryNumber("start", 0, 0, START);
    }

    private static int n(Asked asked) throws Problem {
        return asked.queryNumber("n", 20, 1, LIST);
    }

    private static String name(Asked asked) throws Problem {
        return asked.fieldText("name", 1, NAME);
    }

    private static String password(Asked asked) throws Problem {
        return asked.fieldText("password", SHORTEST_PASSWORD, PASSWORD);
    }

    /** The answer of an optional service; on failure `missing` gets its name. */
    private <T> List<T> optional(String name, Later<List<T>> later, List<String> missing) {
        try {
            return later.get();
        } catch (TException failed) {
            missing.add(name);
            service.degraded(1);
            return List.of();
        }
    }

    /** Errors: a refusal if there is one, else a failure: a refusal says more. */
    private static void awaitAll(List<Later<?>> all) throws TException {
        TException refused = null;
        TException failed = null;
        for (Later<?> one : all) {
            try {
                one.get();
            } catch (Refused error) {
                refused = refused != null ? refused : error;
            } catch (TException error) {
                failed = failed != null ? failed : error;
            }
        }
        if (refused != null || failed != null) {
            throw refused != null ? refused : failed;
        }
    }
}
