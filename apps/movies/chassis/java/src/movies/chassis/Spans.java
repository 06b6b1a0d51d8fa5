package movies.chassis;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Collects spans and appends them to a file in whole records. It never drops one. */
final class Spans implements AutoCloseable {
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    /** A write of 8 KiB, as the other chassis have it. */
    private static final int BUFFERED = 64 * Span.SIZE;
    private static final long FLUSH_EACH_MS = 100;

    private final int service;
    private final int instance;
    private final Log log;
    private final FileChannel file;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFERED).order(ByteOrder.LITTLE_ENDIAN);
    private long count;

    /** Writes no spans if the configuration names no file. */
    Spans(Config config, Log log) throws IOException {
        this.service = config.id;
        this.instance = config.instance;
        this.log = log;
        if (config.spans.isEmpty()) {
            file = null;
            return;
        }
        file = FileChannel.open(Path.of(config.spans), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        String bootId = Files.readString(BOOT_ID).strip();
        write(Span.head(service, instance, bootId, Clock.wallOffset(), ProcessHandle.current().pid()));
        Thread flusher = new Thread(this::flushOften, "spans");
        flusher.setDaemon(true);
        flusher.start();
    }

    synchronized void add(Span span) {
        if (file == null || !file.isOpen()) {
            return;
        }
        span.fill();
        count++;
        span.appendTo(buffer, service, instance);
        if (!buffer.hasRemaining()) {
            flush();
        }
    }

    synchronized long count() {
        return count;
    }

    private synchronized void flush() {
        int size = buffer.position();
        if (size == 0) {
            return;
        }
        try {
            write(buffer.flip());
        } catch (IOException error) {
            log.error("spans are lost: they cannot be written", "bytes", size, "error", error.getMessage());
        }
        buffer.clear();
    }

    private void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            file.write(bytes);
        }
    }

    private void flushOften() {
        try {
            while (file.isOpen()) {
                Thread.sleep(FLUSH_EACH_MS);
                flush();
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public synchronized void close() throws IOException {
        if (file != null && file.isOpen()) {
            flush();
            file.close();
        }
    }
}
