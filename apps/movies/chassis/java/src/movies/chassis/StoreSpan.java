package movies.chassis;

/** The span of a question to a store or a cache. */
final class StoreSpan {
    private final Service service;
    private final Request request = Request.current();
    private final Span span = new Span(Span.Kind.STORE);
    private long bytesInBefore;
    private long bytesOutBefore;

    StoreSpan(Service service, int peer, Span.StoreMethod method) {
        this.service = service;
        span.peer = peer;
        span.method = method.ordinal();
        span.stamps[0] = Clock.now();
    }

    /** Starts the measurement: the pool has provided the connection. */
    void begin(Wire wire) {
        span.stamps[1] = Clock.now();
        bytesInBefore = wire.bytesIn;
        bytesOutBefore = wire.bytesOut;
    }

    /** The answer was read from the connection. */
    void took(Wire wire) {
        span.stamps[3] = wire.wroteAt;
        span.stamps[4] = wire.answeredAt;
        span.bytesIn = wire.bytesIn - bytesInBefore;
        span.bytesOut = wire.bytesOut - bytesOutBefore;
    }

    void retried() {
        span.flags |= Span.RETRIED;
    }

    void end(Exception why) {
        if (!request.isSampled()) {
            return;
        }
        span.stamps[5] = Clock.now();
        span.outcome = Outcome.of(why);
        span.trace = request.trace;
        span.parent = request.trace.span();
        span.span = Trace.newSpan();
        service.spans.add(span);
    }
}
