package movies.handlers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class ThrottleTest {
    private final Throttle throttle = new Throttle();

    @Test
    void waitsGrowWithFailuresAndEndWithSuccess() {
        long now = -5;
        for (int n = 0; n <= Throttle.FREE_PAIR; n++) {
            assertEquals(0, throttle.begin("ann", "a", now));
            throttle.failed("ann", "a", now);
        }
        assertEquals(2, throttle.begin("ann", "a", now));
        assertEquals(0, throttle.begin("ann", "b", now));
        assertEquals(0, throttle.begin("ben", "a", now));
        now += TimeUnit.SECONDS.toNanos(1);
        assertEquals(0, throttle.begin("ann", "a", now));
        assertEquals(3, throttle.begin("ann", "a", now));
        now += TimeUnit.SECONDS.toNanos(2);
        throttle.succeeded("ann", "a");
        for (int n = 0; n <= Throttle.FREE_PAIR; n++) {
            assertEquals(0, throttle.begin("ann", "a", now));
        }
        assertEquals(2, throttle.begin("ann", "a", now));
        now += Throttle.FORGOTTEN_NS + 1;
        assertEquals(0, throttle.begin("ann", "a", now));
        assertEquals(0, throttle.begin("ann", "a", now));
    }

    @Test
    void sourcesAndAccountsAreSlowedDownAlone() {
        for (int n = 0; n <= Throttle.FREE_SOURCE; n++) {
            throttle.failed("user" + n, "a", 7);
        }
        assertEquals(2, throttle.begin("other", "a", 7));
        assertEquals(0, throttle.begin("other", "b", 7));
        for (int n = 0; n <= Throttle.FREE_ACCOUNT; n++) {
            throttle.failed("ann", "source" + n, 7);
        }
        assertEquals(2, throttle.begin("ann", "new", 7));
        assertEquals(0, throttle.begin("ben", "new", 7));
    }

    @Test
    void aSourceThatSignsUpManyIsSlowedDownAlone() {
        long now = -5;
        for (int n = 0; n <= Throttle.FREE_SIGN_UPS; n++) {
            assertEquals(0, throttle.signUp("a", now));
        }
        assertEquals(2, throttle.signUp("a", now));
        assertEquals(0, throttle.signUp("b", now));
        assertEquals(0, throttle.begin("ann", "a", now));
        now += TimeUnit.SECONDS.toNanos(1);
        assertEquals(0, throttle.signUp("a", now), "a refused one does not count");
        assertEquals(3, throttle.signUp("a", now));
        now += Throttle.FORGOTTEN_NS + 1;
        assertEquals(0, throttle.signUp("a", now));
        assertEquals(0, throttle.signUp("a", now));
    }

    @Test
    void attemptsThatWereNotCheckedDoNotCount() {
        for (int n = 0; n < Throttle.FREE_PAIR; n++) {
            throttle.begin("ann", "a", 7);
        }
        for (int n = 0; n < 3; n++) {
            assertEquals(0, throttle.begin("ann", "a", 7));
            throttle.unchecked("ann", "a");
        }
        assertEquals(0, throttle.begin("ann", "a", 7));
        assertEquals(2, throttle.begin("ann", "a", 7), "others still count");
        throttle.unchecked("ben", "a");
    }

    @Test
    void theMemoryIsBounded() {
        for (int n = 0; n < 2 * Throttle.MOST_COUNTS; n++) {
            throttle.begin("user" + n, "a", 7);
        }
        assertEquals(Throttle.MOST_COUNTS, throttle.size());
    }
}
