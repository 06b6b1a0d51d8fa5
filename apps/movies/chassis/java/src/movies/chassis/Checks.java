package movies.chassis;

import movies.idl.Code;
import movies.idl.Refused;

/** What methods refuse. */
public final class Checks {
    /** Entries of a list that is asked for at most. Source: the contract of the application. */
    public static final int MOST_LISTED = 100;

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

    public static void stars(int given) throws Refused {
        range("stars", given, 1, MOST_STARS);
    }
}
