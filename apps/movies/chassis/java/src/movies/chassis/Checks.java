package movies.chassis;

import java.nio.charset.StandardCharsets;
import movies.idl.Code;
import movies.idl.Refused;

/** What methods refuse. */
public final class Checks {
    /** Maximum length of a requested list. Source: the contract of the application. */
    public static final int MOST_LISTED = 100;

    /** Of a review. Units of this and the next: bytes. Source: the contract of the application. */
    public static final int LONGEST_TEXT = 8192;

    /** Limit of titles and queries; the longest in the data set has 83. */
    public static final int LONGEST_LINE = 256;

    private static final int MOST_STARS = 10;

    private Checks() {}

    public static void number(String name, long given) throws Refused {
        range(name, given, 1, Long.MAX_VALUE);
    }

    public static void range(String name, long given, long least, long most) throws Refused {
        if (given < least || given > most) {
            throw new Refused(Code.BAD_REQUEST, name + " is " + given + ", and takes " + least + " to " + most);
        }
    }

    public static void page(int start, int n) throws Refused {
        range("start", start, 0, Integer.MAX_VALUE);
        range("n", n, 0, MOST_LISTED);
    }

    public static void listed(String name, int size) throws Refused {
        range("the number of " + name, size, 0, MOST_LISTED);
    }

    public static void size(String name, String given, int most) throws Refused {
        int size = given.getBytes(StandardCharsets.UTF_8).length;
        if (size > most) {
            throw new Refused(Code.TOO_LARGE, name + " has " + size + " bytes, and may have " + most);
        }
    }

    public static void stars(int given) throws Refused {
        range("stars", given, 1, MOST_STARS);
    }
}
