package movies.chassis;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** One record of a file of spans. Units of the stamps: ns of CLOCK_MONOTONIC. Source of the layout: the contract of the application. */
final class Span {
    enum Kind {
        SERVER,
        CLIENT,
        STORE
    }

    static final int SIZE = 128;
    static final int RETRIED = 1;

    /** Store operations; the index of a value is its number. */
    enum StoreMethod {
        GET,
        GET_MANY,
        INSERT,
        UPDATE,
        DELETE
    }

    private static final int HEAD_MAGIC = 0x31485053;
    private static final int MAGIC = 0x314e5053;
    private static final short VERSION = 1;

    final Kind kind;
    int peer;
    int method;
    Outcome outcome = Outcome.OK;
    int flags;
    /** Its span is not used. */
    Trace trace;
    long span;
    long parent;
    /** From a to f. */
    final long[] stamps = new long[6];
    long processorNs;
    long bytesIn;
    long bytesOut;

    Span(Kind kind) {
        this.kind = kind;
    }

    /** Becomes a part of a request's trace, which may be null. Returns it with this span in place of the caller's, if spans of it are written. */
    Trace within(Trace given) {
        if (given == null || !given.sampled()) {
            return given;
        }
        parent = given.span();
        span = Trace.newSpan();
        return given.withSpan(span);
    }

    /** Gives a stamp that was not reached the one before it. */
    void fill() {
        for (int at = 1; at < stamps.length; at++) {
            stamps[at] = Math.max(stamps[at], stamps[at - 1]);
        }
    }

    /** `out` is little endian. */
    void appendTo(ByteBuffer out, int service, int instance) {
        out.putInt(MAGIC).putShort((short) service).putShort((short) instance).putShort((short) peer).putShort((short) method);
        out.put((byte) kind.ordinal()).put((byte) outcome.ordinal()).putShort((short) flags);
        // The trace is bytes, as they are written in the header.
        out.putLong(Long.reverseBytes(trace.high())).putLong(Long.reverseBytes(trace.low())).putLong(span).putLong(parent);
        for (long stamp : stamps) {
            out.putLong(stamp);
        }
        out.putLong(processorNs).putInt((int) bytesIn).putInt((int) bytesOut).putLong(0).putLong(0);
    }

    /** The first record of a process in its file. */
    static ByteBuffer head(int service, int instance, String bootId, long wallOffset, long pid) {
        ByteBuffer out = ByteBuffer.allocate(SIZE).order(ByteOrder.LITTLE_ENDIAN);
        out.putInt(HEAD_MAGIC).putShort(VERSION).putShort((short) service).putShort((short) instance);
        out.position(16);
        out.put(bootId.getBytes(StandardCharsets.US_ASCII), 0, 36);
        out.position(56);
        out.putLong(wallOffset).putLong(pid);
        return out.clear();
    }
}
