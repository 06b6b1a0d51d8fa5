package movies.chassis;

import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;

/** How often which duration was, since the start. Any thread may add. */
final class Histogram {
    /** Units: ns; 18 minutes, and longer ones count as that. */
    private static final long MOST = 1L << 40;
    /** 8 for each power of two, 12.5 % wide each, and one for each of the numbers below 8. */
    static final int BUCKETS = 8 * (40 - 2) + 1;

    private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);

    static int bucket(long ns) {
        if (ns < 8) {
            return (int) Math.max(ns, 0);
        }
        long least = Math.min(ns, MOST);
        int e = 63 - Long.numberOfLeadingZeros(least);
        return 8 * (e - 2) + (int) (least >> (e - 3) & 7);
    }

    void add(long ns) {
        counts.getAndIncrement(bucket(ns));
    }

    /** Adds the buckets that are not empty, by name. */
    void appendTo(Map<String, Long> all, String name) {
        for (int at = 0; at < BUCKETS; at++) {
            long count = counts.get(at);
            if (count > 0) {
                all.put(name + "." + at, count);
            }
        }
    }
}
