package movies.chassis;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.Arrays;

/**
 * A connection to a callee or a store: bytes out and in until a deadline, and the moments of it. For one thread at a time.
 *
 * <p>Errors of all: `SocketTimeoutException` at the deadline, `EOFException` if the other end closed it.
 */
final class Wire implements Closeable {
    /** Native memory that is kept for each thread is as large as the largest part that is written or read. */
    static final int PART = 64 * 1024;
    private static final int BUFFERED = 16 * 1024;

    private final SocketChannel channel;
    private final Selector selector;
    private final SelectionKey key;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFERED).limit(0);
    /** When bytes were last written, and the first that came afterwards. Units: ns of CLOCK_MONOTONIC. */
    long wroteAt;
    long answeredAt;
    long bytesIn;
    long bytesOut;
    /** Of the last question to a callee; there is at most one outstanding. */
    int sequence;

    private Wire(SocketChannel channel, Selector selector, SelectionKey key) {
        this.channel = channel;
        this.selector = selector;
        this.key = key;
    }

    static Wire connect(SocketAddress address, long deadline) throws IOException {
        boolean isUnix = address instanceof UnixDomainSocketAddress;
        SocketChannel channel = isUnix ? SocketChannel.open(StandardProtocolFamily.UNIX) : SocketChannel.open();
        Selector selector = null;
        try {
            channel.configureBlocking(false);
            if (!isUnix) {
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            }
            selector = Selector.open();
            // A name is looked up again, so that its address may change.
            boolean isNamed = address instanceof InetSocketAddress inet && inet.isUnresolved();
            channel.connect(isNamed ? resolved((InetSocketAddress) address) : address);
            Wire wire = new Wire(channel, selector, channel.register(selector, 0));
            while (!channel.finishConnect()) {
                wire.await(SelectionKey.OP_CONNECT, deadline);
            }
            return wire;
        } catch (IOException | RuntimeException error) {
            channel.close();
            if (selector != null) {
                selector.close();
            }
            throw error instanceof IOException failed ? failed : new IOException(error.toString(), error);
        }
    }

    private static InetSocketAddress resolved(InetSocketAddress address) {
        return new InetSocketAddress(address.getHostString(), address.getPort());
    }

    /** Another selector than its own sees when something can be read. */
    SelectionKey register(Selector other, Object attachment) throws IOException {
        return channel.register(other, SelectionKey.OP_READ, attachment);
    }

    /** Whether nothing can be read: with no question outstanding, bytes or the end mean that it is of no use. */
    boolean isAlive() {
        if (!channel.isOpen() || buffer.hasRemaining()) {
            return false;
        }
        try {
            int read = channel.read(buffer.clear().limit(1));
            buffer.limit(0);
            return read == 0;
        } catch (IOException broken) {
            return false;
        }
    }

    void write(ByteBuffer bytes, long deadline) throws IOException {
        int end = bytes.limit();
        while (bytes.position() < end) {
            bytes.limit(Math.min(end, bytes.position() + PART));
            int wrote = channel.write(bytes);
            bytesOut += wrote;
            if (wrote == 0) {
                await(SelectionKey.OP_WRITE, deadline);
            }
        }
        wroteAt = Clock.now();
        answeredAt = 0;
    }

    /** At least one byte; -1 at the end. */
    int read(byte[] to, int from, int size, long deadline) throws IOException {
        if (size == 0) {
            return 0;
        }
        if (!buffer.hasRemaining() && !fill(deadline)) {
            return -1;
        }
        int copied = Math.min(size, buffer.remaining());
        buffer.get(to, from, copied);
        return copied;
    }

    void readFully(byte[] to, int from, int size, long deadline) throws IOException {
        int at = from;
        while (at < from + size) {
            int read = read(to, at, from + size - at, deadline);
            if (read < 0) {
                throw new EOFException("the connection ended before the answer");
            }
            at += read;
        }
    }

    /** A frame without its length. */
    byte[] readFrame(long deadline) throws IOException, BadFrame {
        byte[] length = new byte[4];
        readFully(length, 0, length.length, deadline);
        int size = ByteBuffer.wrap(length).getInt();
        if (size < 1 || size > Frame.LIMIT) {
            throw new BadFrame();
        }
        byte[] frame = new byte[Math.min(size, PART)];
        readFully(frame, 0, frame.length, deadline);
        if (size > frame.length) {
            // Only now, so that a length alone takes no memory.
            int had = frame.length;
            frame = Arrays.copyOf(frame, size);
            readFully(frame, had, size - had, deadline);
        }
        return frame;
    }

    /** A line that ends with CR LF, without these. Errors: `IOException` if it is longer. */
    String readLine(int longest, long deadline) throws IOException {
        StringBuilder line = new StringBuilder();
        for (;;) {
            if (!buffer.hasRemaining() && !fill(deadline)) {
                throw new EOFException("the connection ended before the answer");
            }
            char one = (char) (buffer.get() & 0xff);
            if (one == '\n' && !line.isEmpty() && line.charAt(line.length() - 1) == '\r') {
                line.setLength(line.length() - 1);
                return line.toString();
            }
            line.append(one);
            if (line.length() > longest) {
                throw new IOException("a line of more than " + longest + " bytes");
            }
        }
    }

    private boolean fill(long deadline) throws IOException {
        buffer.clear();
        int read = 0;
        try {
            // Most often the answer is not there yet; waiting first saves a call that reads nothing.
            do {
                await(SelectionKey.OP_READ, deadline);
                read = channel.read(buffer);
            } while (read == 0);
        } finally {
            buffer.limit(Math.max(0, read)).position(0);
        }
        if (answeredAt == 0) {
            answeredAt = Clock.now();
        }
        bytesIn += Math.max(0, read);
        return read > 0;
    }

    private void await(int what, long deadline) throws IOException {
        if (key.interestOps() != what) {
            key.interestOps(what);
        }
        for (;;) {
            long left = Request.left(deadline);
            if (left <= 0) {
                throw new SocketTimeoutException("there was no answer in time");
            }
            int ready = selector.select(left / Clock.NS_PER_MS + 1);
            selector.selectedKeys().clear();
            if (ready > 0) {
                return;
            }
            if (Thread.interrupted()) {
                throw new IOException("the service ends");
            }
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
            // Only then is the descriptor of the channel released.
            selector.close();
        } catch (IOException error) {
            // Nothing can be done with it any more.
            key.cancel();
        }
    }
}
