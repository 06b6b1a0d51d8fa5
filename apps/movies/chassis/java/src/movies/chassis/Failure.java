package movies.chassis;

import org.apache.thrift.TApplicationException;

/** An application exception that a request is answered with. Generated code passes it on as it is. */
public abstract sealed class Failure extends TApplicationException permits Failure.DeadlineSpent, Failure.Unavailable, Failure.Overloaded {
    private static final long serialVersionUID = 1;

    private Failure(String what) {
        super(INTERNAL_ERROR, what);
    }

    /** Nothing is left of the request's time. */
    public static final class DeadlineSpent extends Failure {
        private static final long serialVersionUID = 1;

        public DeadlineSpent(String what) {
            super("deadline: " + what);
        }
    }

    /** A service or store that is needed did not answer. */
    public static final class Unavailable extends Failure {
        private static final long serialVersionUID = 1;

        public Unavailable(String what) {
            super("unavailable: " + what);
        }
    }

    /** More requests wait than the service takes. */
    static final class Overloaded extends Failure {
        private static final long serialVersionUID = 1;

        Overloaded(String what) {
            super("overloaded: " + what);
        }
    }

    /** What a callee's application exception stands for. */
    static Failure answeredBy(String callee, String what) {
        String said = callee + ": " + what;
        return what != null && what.startsWith("deadline: ") ? new DeadlineSpent(said) : new Unavailable(said);
    }
}
