package movies.chassis;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.util.Arrays;

/** The bytes of a caller's connection that have come, until they make frames. */
final class Inbox {
    private static final int USUAL = 1024;
    /** A caller that claims a large frame gets room for it as it sends. */
    private static final int STEP = 1024 * 1024;

    private byte[] bytes = new byte[USUAL];
    private int size;

    int size() {
        return size;
    }

    /** Reads once, at most the buffer's size; -1 at the end. */
    int fill(ReadableByteChannel channel, ByteBuffer buffer) throws IOException {
        int read = channel.read(buffer.clear());
        if (read > 0) {
            if (size + read > bytes.length) {
                bytes = Arrays.copyOf(bytes, room(size + read));
            }
            buffer.flip().get(bytes, size, read);
            size += read;
        }
        return read;
    }

    private int room(int needed) {
        int most = size < 4 ? needed : Math.max(needed, 4 + Math.min(frameSize(), Frame.LIMIT));
        return Math.max(needed, Math.min(most, needed < STEP ? 2 * needed : most));
    }

    /** What the first bytes say, which is not checked. */
    private int frameSize() {
        return ByteBuffer.wrap(bytes).getInt();
    }

    /** The next frame without its length; null if incomplete. */
    byte[] takeFrame() throws BadFrame {
        if (size < 4) {
            return null;
        }
        int frame = frameSize();
        if (frame < 1 || frame > Frame.LIMIT) {
            throw new BadFrame();
        }
        if (size < 4 + frame) {
            return null;
        }
        byte[] taken = Arrays.copyOfRange(bytes, 4, 4 + frame);
        int left = size - 4 - frame;
        if (bytes.length > STEP) {
            // The room of a large frame is not kept.
            bytes = Arrays.copyOfRange(bytes, 4 + frame, 4 + frame + Math.max(left, USUAL));
        } else {
            System.arraycopy(bytes, 4 + frame, bytes, 0, left);
        }
        size = left;
        return taken;
    }
}
