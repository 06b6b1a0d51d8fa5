package movies.chassis;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Time in the queue, the application and the processor, from the header `s` of an answer. Units: ns. */
record Times(long queue, long application, long processor) {
    private static final Pattern FORM = Pattern.compile("([0-9]{1,18}),([0-9]{1,18}),([0-9]{1,18})");

    /** Null unless it is three numbers of up to 18 digits, separated by commas. */
    static Times parse(String text) {
        Matcher found = FORM.matcher(text == null ? "" : text);
        return found.matches()
                ? new Times(Long.parseLong(found.group(1)), Long.parseLong(found.group(2)), Long.parseLong(found.group(3)))
                : null;
    }
}
