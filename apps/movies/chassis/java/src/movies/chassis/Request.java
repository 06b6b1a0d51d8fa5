package movies.chassis;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.LongAdder;
import org.apache.thrift.TException;

/** Context of the request that this thread works on, for its calls and stores. Units of the deadline: ns of CLOCK_MONOTONIC. */
public final class Request {
    /** Of a request that names none. Source: the contract of the application. */
    static final long USUAL_DEADLINE_MS = 2000;

    private static final ThreadLocal<Request> CURRENT = new ThreadLocal<>();

    final long deadline;
    /** Has this server's span; null if the request is not traced. */
    final Trace trace;
    /** Runs parts of it in parallel if its services are in this process; null: this thread runs them one by one. */
    final Executor parts;
    /** Processor time that others have worked on parts of it. Units: ns. */
    final LongAdder partsNs;

    Request(long deadline, Trace trace) {
        this(deadline, trace, null, new LongAdder());
    }

    Request(long deadline, Trace trace, Executor parts, LongAdder partsNs) {
        this.deadline = deadline;
        this.trace = trace;
        this.parts = parts;
        this.partsNs = partsNs;
    }

    /** The same, which ends no later than this. */
    Request until(long end) {
        return end < deadline ? new Request(end, trace, parts, partsNs) : this;
    }

    /** The moment when this share of the remaining time of this thread's request is spent. Units: ns of CLOCK_MONOTONIC. */
    public static long after(int numerator, int denominator) {
        long now = Clock.now();
        return now + (current().deadline - now) / denominator * numerator;
    }

    /** The moment `limit` from now. Units: ms, and ns of CLOCK_MONOTONIC; without a limit (0) never. */
    public static long afterMs(long limit) {
        return limit > 0 ? Clock.now() + limit * Clock.NS_PER_MS : Long.MAX_VALUE;
    }

    /** The request of this thread, or an untraced one with the usual deadline. */
    static Request current() {
        Request current = CURRENT.get();
        return current != null ? current : new Request(Clock.now() + USUAL_DEADLINE_MS * Clock.NS_PER_MS, null);
    }

    boolean isSampled() {
        return trace != null && trace.sampled();
    }

    /** The remaining time. Units: ns. */
    static long left(long deadline) {
        return deadline - Clock.now();
    }

    /** Work that is a part of this request. */
    public interface Work<T> {
        T run() throws TException;
    }

    <T> T during(Work<T> work) throws TException {
        Request before = CURRENT.get();
        CURRENT.set(this);
        try {
            return work.run();
        } finally {
            CURRENT.set(before);
        }
    }

    /** 1 to 9 digits, so that no sum of them overflows; otherwise -1. */
    static long decimal(String text) {
        if (text == null || text.isEmpty() || text.length() > 9 || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
            return -1;
        }
        return Long.parseLong(text);
    }
}
