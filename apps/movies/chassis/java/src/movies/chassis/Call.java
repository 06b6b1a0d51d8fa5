package movies.chassis;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TMessageType;

/** One call of a method of another service: begun when it is sent, finished when it was answered. */
final class Call {
    /** Takes the answer of generated code from a frame. */
    interface Decoder {
        Object decode(Frame frame) throws TException;
    }

    /** The call that this thread begins, to be finished later; or none was begun. */
    static final class Begun {
        private static final ThreadLocal<Begun> CURRENT = new ThreadLocal<>();

        Call call;

        /** Records `call` if it is to be finished later; returns whether it did. */
        static boolean takes(Call call) {
            Begun current = CURRENT.get();
            if (current == null || current.call != null) {
                return false;
            }
            current.call = call;
            if (call.wire != null) {
                UnderWay.current().add(call, call.wire);
            }
            return true;
        }

        <T> T during(Request.Work<T> work) throws TException {
            CURRENT.set(this);
            try {
                return work.run();
            } finally {
                CURRENT.remove();
            }
        }
    }

    /** Generated clients number messages from 1 on, and each sends one. The numbers of frames differ. */
    private static final int MESSAGE = 1;

    private final Service service;
    private final Edge edge;
    private final Request request;
    final long deadline;
    private final byte[] message;
    private final int size;
    private final Decoder decoder;
    private final String key;
    private final Span span = new Span(Span.Kind.CLIENT);
    /** Null for a service that is needed. */
    private final Breaker breaker;
    private Breaker.Admitted admitted = Breaker.Admitted.CALL;

    private Pool<Wire> pool;
    private Wire wire;
    /** Why the question could not be sent. */
    private Exception unsent;
    private boolean isDone;
    private Object value;
    private Exception why;
    /** The callee's times, from the answer; null if absent. */
    private Times times;

    Call(
            Service service, Edge edge, long calledAt, long deadline, byte[] message, int size, Decoder decoder, String key, Breaker breaker) {
        this.breaker = breaker;
        this.service = service;
        this.edge = edge;
        this.request = Request.current();
        this.deadline = deadline;
        this.message = message;
        this.size = size;
        this.decoder = decoder;
        this.key = key;
        span.peer = edge.peer;
        span.method = edge.method;
        span.stamps[0] = calledAt;
        if (request.isSampled()) {
            span.span = Trace.newSpan();
        }
    }

    void begin() {
        if (breaker != null) {
            admitted = breaker.admits(span.stamps[0]);
        }
        if (admitted == Breaker.Admitted.NO) {
            unsent = new Failure.Unavailable(edge.callee + ": it timed out repeatedly, and is not asked for a while");
            return;
        }
        edge.budget.earn();
        try {
            send();
        } catch (IOException | Failure error) {
            unsent = error;
            wire = null;
        }
    }

    /** Waits for its answer. */
    Object finish() throws TException {
        if (!isDone && wire != null) {
            UnderWay.current().await(this, wire);
        }
        if (!isDone) {
            take();
        }
        if (why instanceof TException error) {
            throw error;
        }
        if (why instanceof RuntimeException error) {
            throw error;
        }
        return value;
    }

    /** Reads its answer, and keeps the result or exception for `finish`. */
    void take() {
        UnderWay.current().remove(this);
        isDone = true;
        try {
            value = decoder.decode(await());
        } catch (TException | RuntimeException error) {
            why = error;
        }
        end(why);
    }

    private Frame await() throws Failure {
        try {
            return receiveOrAskAgain();
        } catch (SocketTimeoutException late) {
            throw new Failure.DeadlineSpent(edge.callee + " did not answer in time");
        } catch (BadFrame error) {
            service.counts.badFrames.increment();
            throw new Failure.Unavailable(edge.callee + ": " + error.getMessage());
        } catch (IOException error) {
            throw new Failure.Unavailable(edge.callee + ": " + error.getMessage());
        }
    }

    private Frame receiveOrAskAgain() throws IOException, BadFrame, Failure {
        try {
            if (unsent instanceof Failure failure) {
                throw failure;
            }
            if (unsent instanceof IOException lost) {
                throw lost;
            }
            return receive();
        } catch (SocketTimeoutException late) {
            throw late;
        } catch (IOException lost) {
            boolean may = Registry.isIdempotent(edge.name) && Request.left(deadline) > 0 && edge.budget.spend();
            if (!may) {
                throw lost;
            }
        }
        service.counts.retries.increment();
        span.flags |= Span.RETRIED;
        span.stamps[4] = 0;
        send();
        return receive();
    }

    private void send() throws IOException, Failure {
        if (Request.left(deadline) <= 0) {
            throw new Failure.DeadlineSpent("nothing is left to call " + edge.callee);
        }
        pool = edge.pick(key);
        wire = pool.take(deadline);
        span.stamps[1] = Clock.now();
        // At least 1: less than a millisecond is more than nothing.
        String left = Long.toString(Math.max(1, (deadline - span.stamps[1]) / Clock.NS_PER_MS));
        int sequence = ++wire.sequence;
        ByteBuffer frame;
        if (request.trace == null) {
            frame = Frame.withHeader(sequence, message, size, "d", left);
        } else {
            Trace trace = request.isSampled() ? request.trace.withSpan(span.span) : request.trace;
            frame = Frame.withHeader(sequence, message, size, "d", left, "traceparent", trace.toString());
        }
        span.bytesOut = frame.remaining();
        span.stamps[2] = Clock.now();
        try {
            wire.write(frame, deadline);
        } catch (IOException error) {
            lose(error);
            throw error;
        }
        span.stamps[3] = wire.wroteAt;
    }

    /** Gives the connection back in any case. */
    private Frame receive() throws IOException, BadFrame, Failure {
        Frame frame;
        try {
            byte[] bytes = wire.readFrame(deadline);
            span.stamps[4] = wire.answeredAt;
            span.bytesIn = 4 + bytes.length;
            frame = Frame.parse(bytes);
            Head head = Head.parse(frame);
            boolean isMine = frame.hasHeader() && frame.sequence() == wire.sequence
                    && head.sequence() == MESSAGE && head.name().equals(edge.name);
            if (!isMine || head.type() != TMessageType.REPLY && head.type() != TMessageType.EXCEPTION) {
                throw new BadFrame();
            }
            times = Times.parse(frame.pairs().get("s"));
        } catch (IOException | BadFrame error) {
            lose(error);
            throw error;
        }
        pool.keep(wire);
        return frame;
    }

    private void lose(Exception error) {
        pool.lose(wire, !(error instanceof SocketTimeoutException));
    }

    private void end(Throwable why) {
        span.stamps[5] = Clock.now();
        span.outcome = Outcome.of(why);
        boolean isSpent = span.outcome == Outcome.DEADLINE;
        // What happens before the question is sent, such as a wait for a free connection, is not the callee's, but that it refuses one is.
        boolean isCallees = span.stamps[3] > 0 || unsent instanceof IOException && !isSpent;
        if (breaker != null && admitted != Breaker.Admitted.NO && isCallees) {
            breaker.ended(isSpent, admitted, span.stamps[5]);
        }
        edge.count(span.outcome, span.stamps[5] - span.stamps[0], times);
        if (span.outcome == Outcome.FAILED || span.outcome == Outcome.DEADLINE) {
            service.log.error("a call failed", "callee", edge.callee, "method", edge.name, "error", why.getMessage());
        }
        if (request.isSampled()) {
            span.trace = request.trace;
            span.parent = request.trace.span();
            service.spans.add(span);
        }
    }

    /** The exception of generated code, as the caller of a service sees it. */
    static TException known(String callee, Throwable error) {
        if (error instanceof TApplicationException said) {
            return Failure.answeredBy(callee, said.getMessage());
        }
        return error instanceof movies.idl.Refused refused ? refused : new Failure.Unavailable(callee + ": " + error);
    }
}
