package movies.chassis;

import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;

/** Content of a request header `traceparent`. */
record Trace(long high, long low, long span, boolean sampled) {
    /** W3C's version 00 only, in lower case; null for anything else. Source: Trace Context, 3.2.2. */
    static Trace parse(String text) {
        if (text == null || text.length() != 55 || !text.startsWith("00-") || text.charAt(35) != '-' || text.charAt(52) != '-') {
            return null;
        }
        for (int at = 3; at < 55; at++) {
            if (at != 35 && at != 52 && "0123456789abcdef".indexOf(text.charAt(at)) < 0) {
                return null;
            }
        }
        long high = Long.parseUnsignedLong(text, 3, 19, 16);
        long low = Long.parseUnsignedLong(text, 19, 35, 16);
        long span = Long.parseUnsignedLong(text, 36, 52, 16);
        boolean sampled = (Integer.parseInt(text, 53, 55, 16) & 1) == 1;
        return span == 0 || (high | low) == 0 ? null : new Trace(high, low, span, sampled);
    }

    Trace withSpan(long other) {
        return new Trace(high, low, other, sampled);
    }

    static long newSpan() {
        long id;
        do {
            id = ThreadLocalRandom.current().nextLong();
        } while (id == 0);
        return id;
    }

    @Override
    public String toString() {
        HexFormat hex = HexFormat.of();
        return "00-" + hex.toHexDigits(high) + hex.toHexDigits(low) + "-" + hex.toHexDigits(span) + (sampled ? "-01" : "-00");
    }
}
