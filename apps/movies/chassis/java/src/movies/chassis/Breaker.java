package movies.chassis;

import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Keeps from asking an optional service that times out again and again, so that requests do not wait for it in vain. Open, it lets one
 * call through after each back-off (half-open); an answer of any kind closes it. Any thread may call it.
 */
final class Breaker {
    /** Time-outs in a row that open it. Source: ours. */
    static final int TIME_OUTS = 5;
    /** How long an open one waits before a call tries the service; each try that times out doubles it. */
    static final long FIRST_NS = TimeUnit.SECONDS.toNanos(1);
    static final long LONGEST_NS = TimeUnit.SECONDS.toNanos(30);

    /** Whether a call may begin, and as what. */
    enum Admitted { NO, CALL, TRY }

    private int timeOuts;
    /** 0: closed. */
    private long waitNs;
    private long until;
    private long opened;
    private long refused;

    synchronized Admitted admits(long now) {
        if (waitNs == 0) {
            return Admitted.CALL;
        }
        if (now - until < 0) {
            refused++;
            return Admitted.NO;
        }
        // Others wait for the outcome of this one.
        until = now + waitNs;
        return Admitted.TRY;
    }

    /** The outcome of a call that was admitted. Calls that began before it opened may time out later, and are no tries. */
    synchronized void ended(boolean isTimeOut, Admitted admitted, long now) {
        if (!isTimeOut) {
            timeOuts = 0;
            waitNs = 0;
            return;
        }
        if (waitNs == 0) {
            if (++timeOuts < TIME_OUTS) {
                return;
            }
            waitNs = FIRST_NS;
            opened++;
        } else if (admitted == Admitted.TRY) {
            waitNs = Math.min(2 * waitNs, LONGEST_NS);
        } else {
            return;
        }
        until = now + waitNs;
    }

    synchronized void appendTo(Map<String, Long> all, String name) {
        all.put(name + ".open", waitNs > 0 ? 1L : 0L);
        all.put(name + ".opened", opened);
        all.put(name + ".refused", refused);
    }
}
