package movies.chassis;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.thrift.TByteArrayOutputStream;
import org.apache.thrift.TException;
import org.apache.thrift.TServiceClientFactory;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TMessageType;
import org.apache.thrift.protocol.TProtocol;

/** A service that is called: makes of each method of its interface the two halves that the generated client has, with a frame between. */
final class Upstream implements InvocationHandler {
    private static final int USUAL_MESSAGE = 512;
    /** How generated methods begin. */
    private static final String SEND = "send_";
    private static final String RECEIVE = "recv_";

    /** One method: `send_NAME` and `recv_NAME` of the generated client. */
    private record Halves(Edge edge, Method send, Method receive) {}

    private final Service service;
    private final String name;
    private final long limitNs;
    private final TServiceClientFactory<?> clients;
    private final List<Pool<Wire>> replicas = new ArrayList<>();
    private final Map<String, Halves> methods = new HashMap<>();
    private final boolean isSharded;
    /** Null for a service that is needed. */
    private final Breaker breaker;

    Upstream(Service service, String name, Class<?> iface) throws ConfigError {
        this.service = service;
        this.name = name;
        this.clients = (TServiceClientFactory<?>) Generated.make(iface, "Client$Factory");
        this.isSharded = Registry.isSharded(name);
        this.breaker = service.config.isOptional(name) ? new Breaker() : null;
        this.limitNs = service.config.limitOf(name) * Clock.NS_PER_MS;
        for (InetSocketAddress address : service.config.addresses("upstream." + name)) {
            replicas.add(Pool.to(address));
        }
        AtomicInteger turn = new AtomicInteger();
        Class<?> client = clients.getClass().getDeclaringClass();
        List<String> names = Registry.row(name).methods();
        for (int place = 0; place < names.size(); place++) {
            Edge edge = new Edge(name, place, replicas, turn);
            methods.put(names.get(place), new Halves(edge, half(client, SEND + edge.name), half(client, RECEIVE + edge.name)));
        }
    }

    private static Method half(Class<?> client, String name) {
        for (Method method : client.getMethods()) {
            if (method.getName().equals(name)) {
                return method;
            }
        }
        throw new IllegalArgumentException(client + " has no method " + name);
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] values) throws Throwable {
        long calledAt = Clock.now();
        Halves halves = methods.get(method.getName());
        if (halves == null) {
            throw new UnsupportedOperationException("`" + method.getName() + "` is not called of " + name);
        }
        TByteArrayOutputStream out = new TByteArrayOutputStream(USUAL_MESSAGE);
        run(halves.send, clients.getClient(Codec.writer(out)), values);
        long deadline = Request.current().deadline;
        if (limitNs > 0) {
            deadline = Math.min(deadline, calledAt + limitNs);
        }
        Call call = new Call(service, halves.edge, calledAt, deadline, out.get(), out.len(), frame -> decode(halves.receive, frame),
                isSharded ? String.valueOf(values[0]) : null, breaker);
        call.begin();
        return Call.Begun.takes(call) ? nothing(method.getReturnType()) : call.finish();
    }

    private Object decode(Method receive, Frame frame) throws TException {
        // The frame's sequence was compared; this client has sent nothing, so that it expects 0 of the message.
        ByteBuffer.wrap(frame.bytes()).putInt(frame.messageFrom() + Head.sequenceAt(receive.getName().length() - RECEIVE.length()), 0);
        return run(receive, clients.getClient(Codec.reader(frame.bytes(), frame.messageFrom()), null), (Object[]) null);
    }

    private Object run(Method half, Object client, Object... values) throws TException {
        try {
            return half.invoke(client, values);
        } catch (InvocationTargetException error) {
            throw Call.known(name, error.getCause());
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Writes and reads messages of each method, which go nowhere. */
    void warm() {
        Request traced = new Request(Clock.now(), Trace.parse("00-00000000000000000000000000000001-0000000000000001-00"));
        for (Halves halves : methods.values()) {
            try {
                TByteArrayOutputStream out = new TByteArrayOutputStream(USUAL_MESSAGE);
                Object[] values = Stream.of(halves.send.getParameterTypes()).map(Upstream::nothing).toArray();
                run(halves.send, clients.getClient(Codec.writer(out)), values);
                out.reset();
                TProtocol to = Codec.writer(out);
                to.writeMessageBegin(new TMessage(halves.edge.name, TMessageType.REPLY, 0));
                to.writeFieldStop();
                ByteBuffer answer = Frame.withHeader(1, out.get(), out.len(), "s", "0,0,0", "traceparent", String.valueOf(traced.trace));
                byte[] body = new byte[answer.remaining() - 4];
                answer.position(4).get(body);
                Frame frame = Frame.parse(body);
                Head.parse(frame);
                Times.parse(frame.pairs().get("s"));
                decode(halves.receive, frame);
            } catch (TException | BadFrame empty) {
                // Such as that the result is missing.
                continue;
            }
        }
    }

    /** Placeholder for a value that is not known yet. */
    private static Object nothing(Class<?> type) {
        if (type == long.class) {
            return 0L;
        }
        if (type == int.class) {
            return 0;
        }
        return type == boolean.class ? false : null;
    }

    /** Whether this is a service in another process. */
    static boolean isOne(Object service) {
        return Proxy.isProxyClass(service.getClass()) && Proxy.getInvocationHandler(service) instanceof Upstream;
    }

    void appendTo(Map<String, Long> all) {
        if (breaker != null) {
            breaker.appendTo(all, "breaker." + name);
        }
        methods.values().forEach(halves -> halves.edge.appendTo(all));
    }
}
