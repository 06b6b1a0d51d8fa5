package movies.chassis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;

/** A socket for PostgreSQL's driver. Each read and write has a deadline. */
final class StoreSocket extends Socket {
    final Wire wire;
    /** Units: ns of CLOCK_MONOTONIC. */
    volatile long deadline;

    StoreSocket(Wire wire, long deadline) {
        this.wire = wire;
        this.deadline = deadline;
    }

    @Override
    public boolean isConnected() {
        return true;
    }

    @Override
    public InputStream getInputStream() {
        return new InputStream() {
            private final byte[] one = new byte[1];

            @Override
            public int read() throws IOException {
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] to, int from, int size) throws IOException {
                try {
                    return wire.read(to, from, size, deadline);
                } catch (SocketTimeoutException late) {
                    // The driver would retry, as after a time-out of its own.
                    throw new IOException(late.getMessage(), late);
                }
            }
        };
    }

    @Override
    public OutputStream getOutputStream() {
        return new OutputStream() {
            @Override
            public void write(int one) throws IOException {
                write(new byte[] {(byte) one}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int from, int size) throws IOException {
                wire.write(ByteBuffer.wrap(bytes, from, size), deadline);
            }
        };
    }

    @Override
    public void close() {
        wire.close();
    }

    // The deadline decides, and the options were set on connecting.

    @Override
    public void setSoTimeout(int ms) {
        // See above.
    }

    @Override
    public int getSoTimeout() {
        return 0;
    }

    @Override
    public void setTcpNoDelay(boolean on) {
        // See above.
    }

    @Override
    public void setKeepAlive(boolean on) {
        // See above.
    }
}
