package movies.chassis;

import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Counts since the start. Units of the times: ns. */
final class Counters {
    final LongAdder requests = new LongAdder();
    final LongAdder errors = new LongAdder();
    final LongAdder refused = new LongAdder();
    final LongAdder deadline = new LongAdder();
    final LongAdder overloaded = new LongAdder();
    final LongAdder degraded = new LongAdder();
    final LongAdder retries = new LongAdder();
    final LongAdder badFrames = new LongAdder();
    final LongAdder connections = new LongAdder();
    final LongAdder queueNs = new LongAdder();
    final LongAdder applicationNs = new LongAdder();
    final LongAdder processorNs = new LongAdder();
    final LongAdder cacheHits = new LongAdder();
    final LongAdder cacheMisses = new LongAdder();
    final LongAdder cacheErrors = new LongAdder();

    /** Counts a request by its server's span. */
    void count(Span span) {
        requests.increment();
        switch (span.outcome) {
            case REFUSED -> refused.increment();
            case FAILED -> errors.increment();
            case DEADLINE -> deadline.increment();
            case OK -> { }
        }
        queueNs.add(span.stamps[1] - span.stamps[0]);
        applicationNs.add(span.stamps[3] - span.stamps[2]);
        processorNs.add(span.processorNs);
    }

    void appendTo(Map<String, Long> all) {
        all.put("requests", requests.sum());
        all.put("errors", errors.sum());
        all.put("refused", refused.sum());
        all.put("deadline", deadline.sum());
        all.put("overloaded", overloaded.sum());
        all.put("degraded", degraded.sum());
        all.put("retries", retries.sum());
        all.put("bad_frames", badFrames.sum());
        all.put("connections", connections.sum());
        all.put("queue_ns", queueNs.sum());
        all.put("application_ns", applicationNs.sum());
        all.put("cpu_ns", processorNs.sum());
        all.put("cache.hits", cacheHits.sum());
        all.put("cache.misses", cacheMisses.sum());
        all.put("cache.errors", cacheErrors.sum());
    }
}
