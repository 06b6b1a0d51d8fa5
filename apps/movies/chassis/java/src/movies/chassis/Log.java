package movies.chassis;

import com.google.gson.JsonObject;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** Lines of JSON on standard error; none for a request that went well. */
public final class Log {
    /** Source: the contract of the application. */
    private static final int MOST_ERRORS_A_SECOND = 10;

    private final String service;
    private final int instance;
    private final OutputStream out = new FileOutputStream(FileDescriptor.err);
    private long second;
    private int errors;

    public Log(String service, int instance) {
        this.service = service;
        this.instance = instance;
    }

    /** `more`: names and values by turns. */
    public void info(String message, Object... more) {
        write("info", message, more);
    }

    public void error(String message, Object... more) {
        if (mayWrite()) {
            write("error", message, more);
        }
    }

    private synchronized boolean mayWrite() {
        long now = TimeUnit.NANOSECONDS.toSeconds(Clock.now());
        if (now != second) {
            second = now;
            errors = 0;
        }
        return ++errors <= MOST_ERRORS_A_SECOND;
    }

    private synchronized void write(String level, String message, Object... more) {
        JsonObject line = new JsonObject();
        line.addProperty("ts", System.currentTimeMillis());
        line.addProperty("level", level);
        line.addProperty("service", service);
        line.addProperty("instance", instance);
        line.addProperty("msg", message);
        for (int at = 0; at + 1 < more.length; at += 2) {
            if (more[at + 1] instanceof Number number) {
                line.addProperty((String) more[at], number);
            } else {
                line.addProperty((String) more[at], String.valueOf(more[at + 1]));
            }
        }
        try {
            // One write, so that lines of several processes do not mix.
            out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException gone) {
            // There is nowhere to say it.
            errors = MOST_ERRORS_A_SECOND;
        }
    }
}
