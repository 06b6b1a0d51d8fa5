package movies.chassis;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/** A caller's connection: one request at a time, in order. Its lock guards all of it. */
final class Peer {
    /** More of these are left to the kernel while a request is under way, which makes the caller wait. */
    private static final int MOST_AHEAD = Wire.PART;

    private final Server server;
    private final SocketChannel channel;
    private final SelectionKey key;
    private final Inbox inbox = new Inbox();
    private boolean isBusy;
    private boolean isAdvancing;
    private boolean hasEnded;
    /** The unwritten rest, and the action after writing it. */
    private ByteBuffer rest;
    private Runnable written;

    Peer(Server server, SocketChannel channel, SelectionKey key) {
        this.server = server;
        this.channel = channel;
        this.key = key;
    }

    /** Called by the server's loop. */
    synchronized void onReady(ByteBuffer buffer) {
        if (!key.isValid()) {
            return;
        }
        try {
            if (key.isWritable()) {
                writeMore();
            }
            if (key.isReadable()) {
                hasEnded |= inbox.fill(channel, buffer) < 0;
                if (hasEnded || isBusy && inbox.size() > MOST_AHEAD) {
                    setInterest(SelectionKey.OP_READ, false);
                }
            }
            advance();
        } catch (IOException broken) {
            close();
        }
    }

    /** Begins the next request, if complete, and later ones that are answered at once. */
    private void advance() {
        if (isAdvancing) {
            return;
        }
        isAdvancing = true;
        try {
            byte[] frame;
            while (!isBusy && (frame = inbox.takeFrame()) != null) {
                isBusy = true;
                server.begin(new Exchange(server, this, frame, Clock.now()));
            }
            if (!isBusy && hasEnded && inbox.size() > 0) {
                throw new BadFrame();
            }
        } catch (BadFrame bad) {
            server.service.counts.badFrames.increment();
            close();
        } finally {
            isAdvancing = false;
        }
        // Callers see the end at once, and turn to another instance; a partial frame may be completed.
        if (!isBusy && (hasEnded || server.isDraining && inbox.size() == 0)) {
            close();
        }
    }

    /** Writes an answer; `done` is called when the kernel has it all, or the caller is gone. */
    synchronized void write(ByteBuffer answer, Runnable done) {
        if (!channel.isOpen()) {
            // The connection broke while the request was at work.
            done.run();
            return;
        }
        rest = answer;
        written = done;
        try {
            writeMore();
        } catch (IOException broken) {
            close();
        }
    }

    private void writeMore() throws IOException {
        if (rest == null) {
            return;
        }
        int end = rest.limit();
        int wrote;
        do {
            rest.limit(Math.min(end, rest.position() + Wire.PART));
            wrote = channel.write(rest);
            rest.limit(end);
        } while (wrote > 0 && rest.hasRemaining());
        setInterest(SelectionKey.OP_WRITE, rest.hasRemaining());
        if (!rest.hasRemaining()) {
            rest = null;
            written.run();
        }
    }

    /** The answer was written or cannot be; the next request may begin. */
    synchronized void finish() {
        isBusy = false;
        if (!channel.isOpen()) {
            return;
        }
        if (!hasEnded) {
            setInterest(SelectionKey.OP_READ, true);
        }
        advance();
    }

    private void setInterest(int what, boolean on) {
        int now = key.interestOps();
        int wanted = on ? now | what : now & ~what;
        if (wanted != now) {
            key.interestOps(wanted);
            server.selector.wakeup();
        }
    }

    /** Begins a request that has been received, unless one is under way; closes the connection if there is none. */
    synchronized void end(ByteBuffer buffer) {
        if (isBusy || !channel.isOpen()) {
            return;
        }
        try {
            int read;
            do {
                read = inbox.fill(channel, buffer);
            } while (read > 0);
            hasEnded |= read < 0;
            advance();
        } catch (IOException broken) {
            close();
        }
    }

    synchronized void close() {
        if (!channel.isOpen()) {
            return;
        }
        try {
            channel.close();
        } catch (IOException error) {
            key.cancel();
        }
        server.peers.remove(this);
        if (rest != null) {
            rest = null;
            written.run();
        }
    }
}
