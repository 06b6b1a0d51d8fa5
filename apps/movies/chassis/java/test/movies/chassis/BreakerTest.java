package movies.chassis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.Map;
import movies.chassis.Breaker.Admitted;
import org.junit.jupiter.api.Test;

final class BreakerTest {
    private final Breaker breaker = new Breaker();

    @Test
    void opensAfterTimeOutsInARowAndClosesWithAnAnswer() {
        long now = -7;
        for (int n = 0; n < Breaker.TIME_OUTS - 1; n++) {
            breaker.ended(true, Admitted.CALL, now);
        }
        breaker.ended(false, Admitted.CALL, now);
        for (int n = 0; n < Breaker.TIME_OUTS; n++) {
            assertEquals(Admitted.CALL, breaker.admits(now));
            breaker.ended(true, Admitted.CALL, now);
        }
        assertEquals(Admitted.NO, breaker.admits(now));
        // One that began before.
        breaker.ended(true, Admitted.CALL, now + Breaker.LONGEST_NS);
        now += Breaker.FIRST_NS;
        assertEquals(Admitted.TRY, breaker.admits(now));
        assertEquals(Admitted.NO, breaker.admits(now));
        breaker.ended(true, Admitted.TRY, now);
        now += Breaker.FIRST_NS;
        assertEquals(Admitted.NO, breaker.admits(now));
        now += Breaker.FIRST_NS;
        assertEquals(Admitted.TRY, breaker.admits(now));
        breaker.ended(false, Admitted.TRY, now);
        assertEquals(Admitted.CALL, breaker.admits(now));
        Map<String, Long> all = new HashMap<>();
        breaker.appendTo(all, "breaker.ads");
        assertEquals(Map.of("breaker.ads.open", 0L, "breaker.ads.opened", 1L, "breaker.ads.refused", 3L), all);
    }

    @Test
    void waitsNoLongerThanItsBound() {
        long now = 0;
        for (int n = 0; n < Breaker.TIME_OUTS; n++) {
            breaker.ended(true, Admitted.CALL, now);
        }
        for (int n = 0; n < 20; n++) {
            now += Breaker.LONGEST_NS;
            assertEquals(Admitted.TRY, breaker.admits(now));
            breaker.ended(true, Admitted.TRY, now);
        }
    }
}
