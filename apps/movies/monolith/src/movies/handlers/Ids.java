package movies.handlers;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Numbers that never repeat: `ms since 2020-01-01 << 22 | instance << 12 | counter`. Each is above the one before,
 * for any change of the wall clock: if it stops or goes back, or after 4096 numbers in a millisecond, they continue from the last one.
 */
public final class Ids implements LongSupplier {
    /** Instances that have numbers of their own. */
    public static final int INSTANCES = 1024;
    /** 2020-01-01T00:00:00Z. Units: ms since 1970. */
    private static final long EPOCH_MS = 1_577_836_800_000L;
    private static final int COUNTER_BITS = 12;
    private static final int INSTANCE_BITS = 10;

    private final long instance;
    private final LongSupplier wallMs;
    /** The last number without its instance: ms << 12 | counter. */
    private final AtomicLong last = new AtomicLong();

    public Ids(int instance) {
        this(instance, System::currentTimeMillis);
        // One that ended just now may have made numbers in this millisecond.
        long start = System.currentTimeMillis();
        while (System.currentTimeMillis() == start) {
            Thread.onSpinWait();
        }
    }

    Ids(int instance, LongSupplier wallMs) {
        if (instance < 0 || instance >= INSTANCES) {
            throw new IllegalArgumentException(
                    "`instance` is " + instance + ", and takes 0 to " + (INSTANCES - 1) + ", which is what a number has room for");
        }
        this.instance = instance;
        this.wallMs = wallMs;
    }

    @Override
    public long getAsLong() {
        long now = Math.max(0, wallMs.getAsLong() - EPOCH_MS) << COUNTER_BITS;
        long next = last.updateAndGet(before -> now > before ? now : before + 1);
        long counter = next & ((1 << COUNTER_BITS) - 1);
        return next >> COUNTER_BITS << (INSTANCE_BITS + COUNTER_BITS) | instance << COUNTER_BITS | counter;
    }
}
