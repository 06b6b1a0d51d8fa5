package movies.chassis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** The beginning of a message; `body` is the offset of the rest in the frame's bytes. */
record Head(byte type, String name, int sequence, int body) {
    /** Of the strict binary protocol, version 1, without the type. */
    private static final int VERSION = 0x80010000;
    /** Version and type, length of the name, sequence. */
    private static final int FIXED = 12;

    /** The place of the sequence in a message whose name has this size. */
    static int sequenceAt(int nameSize) {
        return 8 + nameSize;
    }

    static Head parse(Frame frame) throws BadFrame {
        int from = frame.messageFrom();
        if (frame.messageSize() < FIXED) {
            throw new BadFrame();
        }
        ByteBuffer message = ByteBuffer.wrap(frame.bytes());
        int first = message.getInt(from);
        int size = message.getInt(from + 4);
        if ((first & 0xffffff00) != VERSION || size < 0 || size > frame.messageSize() - FIXED) {
            throw new BadFrame();
        }
        String name = new String(frame.bytes(), from + 8, size, StandardCharsets.UTF_8);
        return new Head((byte) first, name, message.getInt(from + sequenceAt(size)), from + FIXED + size);
    }
}
