package movies.chassis;

import java.io.Closeable;
import java.io.IOException;
import java.net.SocketAddress;

/** A connection to a callee; it has at most one question outstanding. */
final class Connection implements Closeable {
    private final Wire wire;
    private int sequence;

    Connection(SocketAddress address, long deadline) throws IOException {
        this.wire = Wire.connect(address, deadline);
    }

    Wire wire() {
        return wire;
    }

    int next() {
        return ++sequence;
    }

    /** Of the question that was sent last. */
    int sequence() {
        return sequence;
    }

    @Override
    public void close() {
        wire.close();
    }
}
