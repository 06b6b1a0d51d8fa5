package movies.handlers;

import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.regex.Pattern;
import movies.chassis.Checks;
import movies.chassis.Handler;
import movies.idl.Code;
import movies.idl.ComposeReview;
import movies.idl.Part;
import movies.idl.PartKind;
import movies.idl.Refused;
import movies.idl.Text;
import org.apache.thrift.TException;

/** Cleans the texts of reviews. */
public final class TextHandler extends Handler implements Text.Iface {
    /** Limit of the HTTP interface; cleaning that much takes well below a millisecond. Units: bytes. */
    private static final int MOST_GIVEN = 64 * 1024;
    /** White space. Source: ECMAScript 2024, 12.2 and 12.3, as the service in JavaScript has it. */
    private static final String WHITE = "\\t\\n\\x0b\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff";
    private static final Pattern BLANKS = Pattern.compile("[" + WHITE + "]+");
    /** Control characters except white space, and characters that change the writing direction: a text must not change the page around it. */
    private static final Pattern CONTROLS =
            Pattern.compile("[\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]|(?![" + WHITE + "])\\p{Cc}");

    private final ComposeReview.Iface reviews;

    public TextHandler(ComposeReview.Iface reviews) {
        this.reviews = reviews;
    }

    @Override
    public void upload(long request, String text) throws TException {
        int given = size(text);
        if (given > MOST_GIVEN) {
            throw tooLarge(given);
        }
        String cleaned = clean(text);
        int size = size(cleaned);
        if (size == 0) {
            throw new Refused(Code.BAD_REQUEST, "the text of a review has no character that is seen");
        }
        if (size > Checks.LONGEST_TEXT) {
            throw tooLarge(size);
        }
        reviews.put(request, new Part(PartKind.TEXT, 0, cleaned));
    }

    /** A text as it is kept: without control characters, white space as single spaces and not at the ends, composed (NFC). */
    static String clean(String text) {
        String seen = CONTROLS.matcher(text).replaceAll("");
        return Normalizer.normalize(BLANKS.matcher(seen).replaceAll(" ").strip(), Normalizer.Form.NFC);
    }

    private static int size(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    private static Refused tooLarge(int size) {
        return new Refused(Code.TOO_LARGE, "the text of a review has " + size + " bytes, and at most " + Checks.LONGEST_TEXT + " are kept");
    }
}
