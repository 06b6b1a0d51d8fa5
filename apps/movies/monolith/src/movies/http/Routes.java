package movies.http;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.thrift.TException;

/** The routes: which operation answers which address. */
final class Routes {
    /** Answers a request; `number` is the number in the address. */
    interface Answering {
        Answer answer(Asked asked, long number) throws TException;
    }

    /** Method, pattern of the path, its name in the registry, its operation. Routes without a name are neither counted nor traced. */
    record Route(String method, Pattern path, String name, Answering answering) {}

    /** A route, and the number of the address. */
    record Found(Route route, long number) {}

    private final List<Route> all = new ArrayList<>();

    Routes(Api api) {
        add("GET", "/api/movie/([1-9][0-9]{0,17})", "page", api::page);
        add("GET", "/api/search", "search", (asked, number) -> api.search(asked));
        add("GET", "/api/titles", "titles", (asked, number) -> api.titles(asked));
        add("POST", "/api/review", "review", (asked, number) -> api.review(asked));
        add("POST", "/api/rent", "rent", (asked, number) -> api.rent(asked));
        add("GET", "/api/rentals", "rentals", (asked, number) -> api.rentals(asked));
        add("POST", "/api/deposit", "deposit", (asked, number) -> api.deposit(asked));
        add("GET", "/api/my-reviews", "my-reviews", (asked, number) -> api.myReviews(asked));
        add("POST", "/api/login", "login", (asked, number) -> api.login(asked));
        add("POST", "/api/sign-up", "sign-up", (asked, number) -> api.signUp(asked));
        add("POST", "/api/logout", "logout", (asked, number) -> api.logout(asked));
        add("GET", "/api/\\.ready", "", (asked, number) -> api.ready());
        add("GET", "/api/\\.counters", "", (asked, number) -> api.counters());
    }

    private void add(String method, String path, String name, Answering answering) {
        all.add(new Route(method, Pattern.compile(path), name, answering));
    }

    /** Errors: unknown path, or another method. */
    Found find(String method, String path) throws Problem {
        List<String> allowed = new ArrayList<>();
        for (Route route : all) {
            Matcher found = route.path.matcher(path);
            if (found.matches()) {
                if (route.method.equals(method)) {
                    return new Found(route, found.groupCount() > 0 ? Long.parseLong(found.group(1)) : 0);
                }
                allowed.add(route.method);
            }
        }
        if (allowed.isEmpty()) {
            throw new Problem(404, "NOT_FOUND", "there is nothing at this address");
        }
        String what = path + " takes " + String.join(" or ", allowed);
        throw new Problem(405, "METHOD_NOT_ALLOWED", what, Map.of("Allow", String.join(", ", allowed)), null);
    }
}
