package movies.chassis;

import org.apache.thrift.TException;

/** What calls and stores need to know of the request that this thread works on. Units of the deadline: ns of CLOCK_MONOTONIC. */
public final class Request {
    /** Of a request that names none. Source: the contract of the application. */
    static final long USUAL_DEADLINE_MS = 2000;

    private static final ThreadLocal<Request> CURRENT = new ThreadLocal<>();

    final long deadline;
    /** Has as its span the one of this server; null where the request is not traced. */
    final Trace trace;

    Request(long deadline, Trace trace) {
        this.deadline = deadline;
        this.trace = trace;
    }

    /** An untraced one with the usual deadline where this thread works on none. */
    static Request current() {
        Request current = CURRENT.get();
        return current != null ? current : new Request(Clock.now() + USUAL_DEADLINE_MS * Clock.NS_PER_MS, null);
    }

    boolean isSampled() {
        return trace != null && trace.sampled();
    }

    /** What is left. Units: ns. */
    static long left(long deadline) {
        return deadline - Clock.now();
    }

    /** Work that is a part of this request. */
    interface Work<T> {
        T run() throws TException;
    }

    <T> T during(Work<T> work) throws TException {
        CURRENT.set(this);
        try {
            return work.run();
        } finally {
            CURRENT.remove();
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
