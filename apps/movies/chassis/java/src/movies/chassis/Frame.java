package movies.chassis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * A frame without its length: a header frame, or a plain one, which has a message only.
 *
 * <p>Thrift has no THeader for Java; this is the subset of its wire format that the contract names.
 */
record Frame(boolean hasHeader, int sequence, Map<String, String> pairs, byte[] bytes, int messageFrom) {
    /** Source of these: the contract of the application. */
    static final int LIMIT = 16 * 1024 * 1024;

    private static final short MAGIC = 0x0fff;
    private static final int PAIRS = 1;
    /** Magic, flags, sequence and number of words. */
    private static final int FIXED = 10;
    /** Of the strict binary protocol. Source: Thrift binary protocol encoding. */
    private static final byte STRICT = (byte) 0x80;

    static Frame parse(byte[] bytes) throws BadFrame {
        if (bytes.length > 0 && bytes[0] == STRICT) {
            return new Frame(false, 0, Map.of(), bytes, 0);
        }
        if (bytes.length < FIXED) {
            throw new BadFrame();
        }
        ByteBuffer head = ByteBuffer.wrap(bytes);
        if (head.getShort(0) != MAGIC || head.getShort(2) != 0) {
            throw new BadFrame();
        }
        int end = FIXED + 4 * (head.getShort(8) & 0xffff);
        if (end >= bytes.length || bytes[end] != STRICT) {
            throw new BadFrame();
        }
        return new Frame(true, head.getInt(4), new Cursor(bytes, FIXED, end).pairs(), bytes, end);
    }

    int messageSize() {
        return bytes.length - messageFrom;
    }

    /** Length and header of a header frame, then the message. `pairs`: keys and values by turns. */
    static ByteBuffer withHeader(int sequence, byte[] message, int size, String... pairs) {
        byte[][] texts = new byte[pairs.length][];
        int length = 2;
        if (pairs.length > 0) {
            length += 2;
        }
        for (int at = 0; at < pairs.length; at++) {
            texts[at] = pairs[at].getBytes(StandardCharsets.ISO_8859_1);
            length += (texts[at].length < 0x80 ? 1 : 2) + texts[at].length;
        }
        int padded = (length + 3) / 4 * 4;
        ByteBuffer out = ByteBuffer.allocate(4 + FIXED + padded + size);
        out.putInt(FIXED + padded + size).putShort(MAGIC).putShort((short) 0).putInt(sequence);
        out.putShort((short) (padded / 4)).put((byte) 0).put((byte) 0);
        if (pairs.length > 0) {
            out.put((byte) PAIRS).put((byte) (pairs.length / 2));
        }
        for (byte[] text : texts) {
            // Texts of headers have less than 16384 bytes.
            if (text.length >= 0x80) {
                out.put((byte) (text.length & 0x7f | 0x80)).put((byte) (text.length >> 7));
            } else {
                out.put((byte) text.length);
            }
            out.put(text);
        }
        out.position(4 + FIXED + padded);
        return out.put(message, 0, size).flip();
    }

    /** Length and message of a plain frame. */
    static ByteBuffer plain(byte[] message, int size) {
        return ByteBuffer.allocate(4 + size).putInt(size).put(message, 0, size).flip();
    }

    /** Reads the header; each read beyond its end is a `BadFrame`. */
    private static final class Cursor {
        private final byte[] bytes;
        private final int end;
        private int at;

        Cursor(byte[] bytes, int at, int end) {
            this.bytes = bytes;
            this.at = at;
            this.end = end;
        }

        Map<String, String> pairs() throws BadFrame {
            Map<String, String> pairs = new HashMap<>(4);
            // The binary protocol, no transforms.
            if (varint() != 0 || varint() != 0) {
                throw new BadFrame();
            }
            while (at < end) {
                long block = varint();
                if (block == 0) {
                    break; // Padding.
                }
                if (block != PAIRS) {
                    throw new BadFrame();
                }
                for (long left = varint(); left > 0; left--) {
                    String key = text();
                    pairs.put(key, text());
                }
            }
            return pairs;
        }

        private long varint() throws BadFrame {
            long value = 0;
            // A number of 32 bits has at most 5 bytes.
            for (int shift = 0; shift < 35; shift += 7) {
                if (at == end) {
                    throw new BadFrame();
                }
                byte read = bytes[at++];
                value |= (long) (read & 0x7f) << shift;
                if (read >= 0) {
                    return value;
                }
            }
            throw new BadFrame();
        }

        private String text() throws BadFrame {
            long size = varint();
            if (size > end - at) {
                throw new BadFrame();
            }
            at += (int) size;
            return new String(bytes, at - (int) size, (int) size, StandardCharsets.ISO_8859_1);
        }
    }
}
