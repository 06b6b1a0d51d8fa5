package movies.chassis;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.LongAdder;
import org.apache.thrift.TException;

/** A request that comes in another way than by a frame, such as HTTP: its deadline, its span and its counters. */
public final class Visit {
    private final Service service;
    /** -1: neither counted nor traced. */
    private final int method;
    private final Trace trace;
    private final Span span = new Span(Span.Kind.SERVER);
    private final LongAdder partsNs = new LongAdder();
    private final long processorBefore = Clock.processor();

    /**
     * A request that this thread begins to work on.
     *
     * <p>`method`: its name in the registry, or another that is neither counted nor traced. `traceparent`: the header, or null. `cameAt`:
     * when all of it was there. Units: ns of CLOCK_MONOTONIC.
     */
    public Visit(Service service, String method, String traceparent, long cameAt) {
        this.service = service;
        this.method = service.row.methods().indexOf(method);
        span.stamps[0] = cameAt;
        span.stamps[1] = Clock.now();
        trace = span.within(this.method < 0 ? null : Trace.parse(traceparent));
    }

    /** Runs `work` once the method is known. `parts`: runs parts of the work in parallel, or null. */
    public <T> T during(Executor parts, Request.Work<T> work) throws TException {
        long deadline = span.stamps[0] + Request.USUAL_DEADLINE_MS * Clock.NS_PER_MS;
        span.stamps[2] = Clock.now();
        try {
            if (span.stamps[2] >= deadline) {
                throw new Failure.DeadlineSpent(Request.USUAL_DEADLINE_MS + " ms were spent before the request was begun");
            }
            return new Request(deadline, trace, parts, partsNs).during(work);
        } finally {
            span.stamps[3] = Clock.now();
        }
    }

    /** Records that the answer is encoded, and is sent next. `why`: the reason of a failure, or null. Returns the time taken. Units: ns. */
    public long answered(Throwable why, long bytesIn, long bytesOut) {
        span.stamps[4] = Clock.now();
        span.fill();
        span.outcome = Outcome.of(why);
        span.bytesIn = bytesIn;
        span.bytesOut = bytesOut;
        span.processorNs = Clock.processor() - processorBefore + partsNs.sum();
        if (method >= 0) {
            service.counts.count(span);
        }
        return span.stamps[4] - span.stamps[0];
    }

    /** The answer was sent, or the client has gone. */
    public void sent() {
        span.stamps[5] = Clock.now();
        if (trace != null && trace.sampled()) {
            span.method = method;
            span.trace = trace;
            service.spans.add(span);
        }
    }

    /** One more than are taken at a time was refused. */
    public static void refused(Service service) {
        service.counts.overloaded.increment();
    }
}
