package movies.chassis;

/** Bytes that are not a frame, or not a message; ends a connection. */
final class BadFrame extends Exception {
    BadFrame() {
        super("these bytes are not a frame");
    }
}
