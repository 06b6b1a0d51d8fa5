package movies.handlers;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Slows down who guesses passwords, or signs up many users: after some each next one means a longer wait, in which nothing is checked.
 * As in the Go service.
 */
final class Throttle {
    /**
     * How many wrong passwords cost no wait: of an account from one source, which is mostly its owner; from one source, which may be a
     * network of many; of an account from wherever. And how many sign-ups of one source.
     */
    static final int FREE_PAIR = 10;
    static final int FREE_SOURCE = 50;
    static final int FREE_ACCOUNT = 100;
    static final int FREE_SIGN_UPS = 100;
    /** After the first failure that is not free; each next one doubles it. */
    private static final long FIRST_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long LONGEST_NS = TimeUnit.MINUTES.toNanos(1);
    /** A count to which nothing was added for this time is forgotten. */
    static final long FORGOTTEN_NS = TimeUnit.MINUTES.toNanos(15);
    /** Bounds the memory; beyond it the count that was not used for longest is forgotten. */
    static final int MOST_COUNTS = 10_000;

    private static final class Failures {
        int count;
        long last;
        long until;
    }

    /** The last used is the last. */
    private final Map<String, Failures> counts = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Failures> eldest) {
            return size() > MOST_COUNTS;
        }
    };

    /**
     * How long to wait before the password of an account is checked for a source; 0: now. An attempt counts as a failure of both until it
     * succeeded, so that many at once are no more than one after the other. Units: s.
     */
    synchronized long begin(String account, String source, long now) {
        long waitS = waitS(now, pair(account, source), "source " + source, "account " + account);
        if (waitS == 0) {
            add(pair(account, source), FREE_PAIR, now);
        }
        return waitS;
    }

    /** How long to wait before a source signs up one more user; 0: now, which counts. Units: s. */
    synchronized long signUp(String source, long now) {
        long waitS = waitS(now, "sign-up " + source);
        if (waitS == 0) {
            add("sign-up " + source, FREE_SIGN_UPS, now);
        }
        return waitS;
    }

    /** The longest wait of these counts. */
    private long waitS(long now, String... keys) {
        long wait = 0;
        for (String key : keys) {
            Failures found = counts.get(key);
            wait = found != null && found.count > 0 ? Math.max(wait, found.until - now) : wait;
        }
        return wait > 0 ? TimeUnit.NANOSECONDS.toSeconds(wait) + 1 : 0;
    }

    synchronized void failed(String account, String source, long now) {
        add("source " + source, FREE_SOURCE, now);
        add("account " + account, FREE_ACCOUNT, now);
    }

    /** Takes back an attempt whose password was not compared, since the database did not answer. */
    synchronized void unchecked(String account, String source) {
        Failures one = counts.get(pair(account, source));
        if (one != null) {
            one.count = Math.max(0, one.count - 1);
            one.until = one.last;
        }
    }

    synchronized void succeeded(String account, String source) {
        counts.remove(pair(account, source));
    }

    synchronized int size() {
        return counts.size();
    }

    private static String pair(String account, String source) {
        return "pair " + account + " " + source;
    }

    private void add(String key, int free, long now) {
        Failures one = counts.computeIfAbsent(key, absent -> new Failures());
        if (one.count == 0 || now - one.last > FORGOTTEN_NS) {
            one.count = 0;
            one.until = now;
        }
        one.count++;
        one.last = now;
        int over = one.count - free;
        if (over > 0) {
            one.until = now + Math.min(LONGEST_NS, FIRST_NS << Math.min(over - 1, 10));
        }
    }
}
