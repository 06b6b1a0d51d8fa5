package movies.handlers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** The same cases as of the service in JavaScript. */
final class TextTest {
    private static void check(String given, String expected) {
        assertEquals(expected, TextHandler.clean(given), given);
        assertEquals(expected, TextHandler.clean(expected), "once more");
    }

    @Test
    void textsAreCleaned() {
        check("Good.", "Good.");
        check("  a \t b\r\n\nc\u00a0d\u2028e  ", "a b c d e");
        check("a\0b\u0007c\u001bd\u007fe\u0085f", "abcdef");
        check("a \u0001 b", "a b");
        check("cafe\u0301", "caf\u00e9");
        check("cafe\u0001\u0301", "caf\u00e9");
        check("\u202eevil\u202c", "evil");
        check("\ud83d\udc69\u200d\ud83d\ude80", "\ud83d\udc69\u200d\ud83d\ude80");
        check("\ufb01n", "\ufb01n");
        check(" \n\0 ", "");
        check("\u2000x", "x");
        check("\ufeffx\u3000", "x");
    }
}
