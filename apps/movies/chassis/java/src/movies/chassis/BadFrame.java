package movies.chassis;

/** Bytes that are not a frame, or not a message; ends a connection. */
final class BadFrame extends Exception {
    private static final long serialVersionUID = 1;

    BadFrame() {
        super("these bytes are not a frame");
    }
}
