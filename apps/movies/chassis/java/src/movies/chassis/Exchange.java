package movies.chassis;

import java.nio.ByteBuffer;
import org.apache.thrift.ProcessFunction;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.TBase;
import org.apache.thrift.TByteArrayOutputStream;
import org.apache.thrift.TException;
import org.apache.thrift.TFieldIdEnum;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TMessageType;
import org.apache.thrift.protocol.TProtocol;

/** One request and its answer. */
final class Exchange {
    private static final int USUAL_ANSWER = 1024;
    /** Of a declared exception in a result; a value has 0. */
    private static final int REFUSED_FIELD = 1;

    private final Server server;
    private final Peer peer;
    private final byte[] bytes;
    private final Span span = new Span(Span.Kind.SERVER);
    private final TByteArrayOutputStream out = new TByteArrayOutputStream(USUAL_ANSWER);
    private Frame frame;
    private Head head;
    private Trace trace;
    private long givenMs;
    /** -1: of the chassis, or none. */
    private int method;

    Exchange(Server server, Peer peer, byte[] bytes, long completeAt) {
        this.server = server;
        this.peer = peer;
        this.bytes = bytes;
        span.stamps[0] = completeAt;
    }

    void parse() throws BadFrame {
        frame = Frame.parse(bytes);
        head = Head.parse(frame);
        if (head.type() != TMessageType.CALL) {
            throw new BadFrame();
        }
        span.bytesIn = 4 + bytes.length;
        method = server.service.row.methods().indexOf(head.name());
        long given = Request.decimal(frame.pairs().get("d"));
        givenMs = given < 0 ? Request.USUAL_DEADLINE_MS : given;
        trace = span.within(Trace.parse(frame.pairs().get("traceparent")));
    }

    boolean isOfChassis() {
        return method < 0;
    }

    /** Called by a worker. */
    void work() {
        long processorBefore = Clock.processor();
        span.stamps[1] = Clock.now();
        long deadline = span.stamps[0] + givenMs * Clock.NS_PER_MS;
        try {
            if (span.stamps[1] >= deadline) {
                throw new Failure.DeadlineSpent(givenMs + " ms were spent before the request was begun");
            }
            new Request(deadline, trace).during(() -> {
                process();
                return null;
            });
        } catch (Failure failure) {
            refuse(failure);
        } catch (TException | StackOverflowError | OutOfMemoryError broken) {
            // The arguments cannot be decoded.
            closeBad();
            return;
        } finally {
            span.processorNs = Clock.processor() - processorBefore;
        }
        answer();
    }

    /** For the chassis' own methods, which take no time and are answered however busy the service is. */
    void answerAtOnce() {
        try {
            process();
        } catch (TException | StackOverflowError | OutOfMemoryError broken) {
            closeBad();
            return;
        }
        answer();
    }

    void refuse(Failure failure) {
        span.outcome = Outcome.of(failure);
        write(failure);
    }

    private void process() throws TException {
        ProcessFunction<?, ? extends TBase<?, ?>> function = server.functions.get(head.name());
        if (function == null) {
            String what = "`" + head.name() + "` is not a method of " + server.service.config.service;
            write(new TApplicationException(TApplicationException.UNKNOWN_METHOD, what));
            return;
        }
        call(function);
    }

    // A function belongs to the interface of the handler with which `Server` was made, or to the interface of every
    // service.
    @SuppressWarnings({"unchecked", "rawtypes"})
    private void call(ProcessFunction function) throws TException {
        TBase arguments = function.getEmptyArgsInstance();
        arguments.read(Codec.reader(frame.bytes(), head.body()));
        span.stamps[2] = Clock.now();
        TBase result = null;
        TApplicationException failure = null;
        try {
            result = function.getResult(isOfChassis() ? server.service : server.handler, arguments);
        } catch (Failure known) {
            span.outcome = Outcome.of(known);
            failure = known;
        } catch (TException | RuntimeException | StackOverflowError | OutOfMemoryError error) {
            span.outcome = Outcome.FAILED;
            server.service.log.error("a handler failed", "method", head.name(), "error", error.toString());
            failure = new TApplicationException(TApplicationException.INTERNAL_ERROR, "internal: " + error);
        }
        span.stamps[3] = Clock.now();
        if (failure != null) {
            write(failure);
            return;
        }
        TFieldIdEnum refused = result.fieldForId(REFUSED_FIELD);
        if (refused != null && result.isSet(refused)) {
            span.outcome = Outcome.REFUSED;
        }
        TProtocol to = Codec.writer(out);
        to.writeMessageBegin(new TMessage(head.name(), TMessageType.REPLY, head.sequence()));
        result.write(to);
        to.writeMessageEnd();
    }

    private void write(TApplicationException error) {
        out.reset();
        try {
            TProtocol to = Codec.writer(out);
            to.writeMessageBegin(new TMessage(head.name(), TMessageType.EXCEPTION, head.sequence()));
            error.write(to);
            to.writeMessageEnd();
        } catch (TException impossible) {
            throw new IllegalStateException("memory cannot be written", impossible);
        }
    }

    void answer() {
        span.stamps[4] = Clock.now();
        span.fill();
        long queue = span.stamps[1] - span.stamps[0];
        long application = span.stamps[3] - span.stamps[2];
        if (method >= 0) {
            server.service.counts.count(span);
        }
        ByteBuffer answer = frame.hasHeader()
                ? Frame.withHeader(frame.sequence(), out.get(), out.len(), "s", queue + "," + application + "," + span.processorNs)
                : Frame.plain(out.get(), out.len());
        span.bytesOut = answer.remaining();
        peer.write(answer, this::end);
    }

    /** The answer was written, or the caller has gone. */
    private void end() {
        span.stamps[5] = Clock.now();
        if (method >= 0 && trace != null && trace.sampled()) {
            span.method = method;
            span.trace = trace;
            server.service.spans.add(span);
        }
        server.begun.remove(this);
        peer.finish();
    }

    void closeBad() {
        server.service.counts.badFrames.increment();
        server.begun.remove(this);
        peer.close();
    }
}
