package movies.chassis;

import org.apache.thrift.TApplicationException;

/** An application exception that a request is answered with. Generated code passes it on as it is. */
public abstract sealed class Failure extends TApplicationException permits Failure.DeadlineSpent, Failure.Unavailable, Failure.Overloaded {
    private static final String OVERLOADED = "overloaded: ";

    private Failure(String what) {
        super(INTERNAL_ERROR, what);
    }

    /** The request's time is used up. */
    public static final class DeadlineSpent extends Failure {
        public DeadlineSpent(String what) {
            super("deadline: " + what);
        }
    }

    /** A service or store that is needed did not answer. */
    public static final class Unavailable extends Failure {
        public Unavailable(String what) {
            super("unavailable: " + what);
        }
    }

    /** More requests wait than the service takes, or one that it needs, whose name is in front then. */
    public static final class Overloaded extends Failure {
        public Overloaded(String what) {
            super(OVERLOADED + what);
        }
    }

    /** The failure that a callee's application exception stands for. */
    static Failure answeredBy(String callee, String what) {
        String said = callee + ": " + what;
        if (what != null && what.startsWith("deadline: ")) {
            return new DeadlineSpent(said);
        }
        // The prefix tells the caller that a later try may succeed.
        return what != null && what.startsWith(OVERLOADED)
                ? new Overloaded(callee + ": " + what.substring(OVERLOADED.length()))
                : new Unavailable(said);
    }
}
