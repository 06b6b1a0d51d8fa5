package movies.chassis;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.SocketFactory;

/**
 * Factory of the sockets of PostgreSQL's driver: they know the deadline of the request, support Unix sockets and record the
 * moments of a span, all of which the driver lacks.
 */
public final class StoreSockets extends SocketFactory {
    private static final ThreadLocal<Long> DEADLINE = new ThreadLocal<>();
    private static final ThreadLocal<StoreSocket> MADE = new ThreadLocal<>();

    private final String address;

    /** The driver makes it, with its property `socketFactoryArg`. */
    public StoreSockets(String address) {
        this.address = address;
    }

    interface Work<T, E extends Exception> {
        T run() throws E;
    }

    /** Connects in `work`, until the deadline. */
    static <T, E extends Exception> T connecting(long deadline, Work<T, E> work) throws E {
        DEADLINE.set(deadline);
        try {
            return work.run();
        } finally {
            DEADLINE.remove();
        }
    }

    /** The socket that was made last in this thread. */
    static StoreSocket takeMade() {
        StoreSocket made = MADE.get();
        MADE.remove();
        return made;
    }

    @Override
    public Socket createSocket() throws IOException {
        Long deadline = DEADLINE.get();
        long until = deadline != null ? deadline : Request.current().deadline;
        StoreSocket socket = new StoreSocket(Wire.connect(StoreAddress.socketAddress(address), until), until);
        MADE.set(socket);
        return socket;
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return createSocket();
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress localHost, int localPort) throws IOException {
        return createSocket();
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return createSocket();
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress localHost, int localPort) throws IOException {
        return createSocket();
    }
}
