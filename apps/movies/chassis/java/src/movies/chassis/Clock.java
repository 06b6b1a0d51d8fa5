package movies.chassis;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Instant;
import java.util.concurrent.TimeUnit;

/** Clocks. Units: ns. */
public final class Clock {
    public static final long NS_PER_MS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Clock() {}

    /** CLOCK_MONOTONIC, which `System.nanoTime` reads on Linux. */
    public static long now() {
        return System.nanoTime();
    }

    /** Processor time of this thread. */
    static long processor() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** CLOCK_REALTIME − CLOCK_MONOTONIC. */
    static long wallOffset() {
        long before = now();
        Instant wall = Instant.now();
        long after = now();
        return TimeUnit.SECONDS.toNanos(wall.getEpochSecond()) + wall.getNano() - (before + (after - before) / 2);
    }
}
