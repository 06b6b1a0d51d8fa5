package movies.chassis;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.TByteArrayOutputStream;
import org.apache.thrift.TException;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TMessageType;
import org.apache.thrift.protocol.TProtocol;

/** Starts a service, serves until a signal or `drain`, and ends the process. */
public final class Run {
    /** Source of these: the contract of the application. */
    private static final long PING_EACH_MS = 50;
    private static final long GIVE_UP_NS = TimeUnit.SECONDS.toNanos(20);
    /** A ping is answered however busy the service is, so within microseconds. */
    private static final long PING_TAKES_NS = TimeUnit.SECONDS.toNanos(1);

    /** The server that accepts the requests of a service. */
    public interface Listener {
        void start() throws IOException;

        /** Accepts no more requests, and waits for those under way. */
        void end();
    }

    /** Makes the listener of a service from the service's context. */
    public interface Opening {
        Listener open(Service service) throws ConfigError, IOException;
    }

    private Run() {}

    /** Does not return before the service ends. `opening`: makes a `Server`, or the listener of another protocol. */
    public static void main(String name, String[] arguments, Opening opening) {
        Log log = new Log(name, 0);
        try {
            if (arguments.length != 1) {
                throw new ConfigError("usage: movies-" + name + " CONFIGFILE");
            }
            Config config = Config.read(Path.of(arguments[0]));
            if (!config.service.equals(name)) {
                throw new ConfigError("`service` is `" + config.service + "`, and this program is that of " + name);
            }
            log = new Log(name, config.instance);
            serve(config, log, opening);
        } catch (ConfigError | IOException | RuntimeException error) {
            log.error(error.getMessage() != null ? error.getMessage() : error.toString());
            // Not `exit`, which would wait for requests.
            Runtime.getRuntime().halt(1);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static void serve(Config config, Log log, Opening opening) throws ConfigError, IOException, InterruptedException {
        // `exit` runs the same hooks as SIGTERM, and waits for them; so it needs a thread of its own.
        Service service = new Service(config, log, () -> new Thread(() -> System.exit(0), "drain").start());
        Listener listener = opening.open(service);
        listener.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(service, listener), "end"));
        service.warm();
        awaitUpstreams(config);
        service.awaitSettled();
        System.out.println("ready " + config.service + " " + config.listenText);
        System.out.flush();
        Thread.currentThread().join();
    }

    private static void end(Service service, Listener listener) {
        listener.end();
        try {
            service.spans.close();
        } catch (IOException error) {
            service.log.error("spans are lost: they cannot be written", "error", error.getMessage());
        }
        // A signal would otherwise be the exit code.
        Runtime.getRuntime().halt(0);
    }

    private static void awaitUpstreams(Config config) throws ConfigError, InterruptedException {
        long until = Clock.now() + GIVE_UP_NS;
        for (String name : config.neededUpstreams()) {
            for (InetSocketAddress address : config.addresses("upstream." + name)) {
                awaitPing(name, address, until);
            }
        }
    }

    private static void awaitPing(String name, InetSocketAddress address, long until) throws ConfigError, InterruptedException {
        for (;;) {
            try {
                ping(address);
                return;
            } catch (IOException | BadFrame | TException error) {
                if (Clock.now() > until) {
                    throw new ConfigError("upstream " + name + " at " + address + " did not answer a ping within "
                            + TimeUnit.NANOSECONDS.toSeconds(GIVE_UP_NS) + " s: " + error.getMessage());
                }
            }
            Thread.sleep(PING_EACH_MS);
        }
    }

    private static void ping(InetSocketAddress address) throws IOException, BadFrame, TException {
        TByteArrayOutputStream out = new TByteArrayOutputStream();
        TProtocol to = Codec.writer(out);
        to.writeMessageBegin(new TMessage("ping", TMessageType.CALL, 1));
        to.writeFieldStop(); // Without arguments.
        long deadline = Clock.now() + PING_TAKES_NS;
        try (Wire wire = Wire.connect(address, deadline)) {
            wire.write(Frame.plain(out.get(), out.len()), deadline);
            if (Head.parse(Frame.parse(wire.readFrame(deadline))).type() != TMessageType.REPLY) {
                throw new IOException("it answered with an exception");
            }
        }
    }
}
