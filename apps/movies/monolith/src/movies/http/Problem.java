package movies.http;

import java.util.Map;
import movies.chassis.Failure;
import movies.idl.Code;
import movies.idl.Refused;
import org.apache.thrift.TException;

/** Error of a request: a status of HTTP, its name, a sentence, and further headers of the answer. */
final class Problem extends TException {
    private static final Map<String, String> LATER = Map.of("Retry-After", "1");
    /** After too many wrong passwords. Source: the service user. */
    private static final Map<String, String> LONG = Map.of("Retry-After", "60");

    final int status;
    final String name;
    final transient Map<String, String> headers;
    /** The cause; null if the request is at fault. */
    final transient Throwable cause;

    Problem(int status, String name, String what) {
        this(status, name, what, Map.of(), null);
    }

    Problem(int status, String name, String what, Map<String, String> headers, Throwable cause) {
        super(what);
        this.status = status;
        this.name = name;
        this.headers = headers;
        this.cause = cause;
    }

    static Problem badRequest(String what) {
        return new Problem(Code.BAD_REQUEST.getValue(), "BAD_REQUEST", what);
    }

    static Problem of(Throwable error) {
        if (error instanceof Problem problem) {
            return problem;
        }
        if (error instanceof Refused refused) {
            return refused.getCode() == Code.UNAVAILABLE
                    ? unavailable("UNAVAILABLE", refused.getWhat(), error)
                    : new Problem(
                            refused.getCode().getValue(),
                            refused.getCode().name(),
                            refused.getWhat(),
                            refused.getCode() == Code.TOO_MANY ? LONG : Map.of(),
                            null);
        }
        if (error instanceof Failure.DeadlineSpent) {
            return new Problem(504, "DEADLINE", error.getMessage(), Map.of(), error);
        }
        if (error instanceof Failure) {
            return unavailable(error instanceof Failure.Overloaded ? "OVERLOADED" : "UNAVAILABLE", error.getMessage(), error);
        }
        return new Problem(500, "INTERNAL", "something went wrong here, and is in the log", Map.of(), error);
    }

    private static Problem unavailable(String name, String what, Throwable cause) {
        return new Problem(503, name, what, LATER, cause);
    }

    /** More requests wait than are taken. */
    static Problem overloaded(int limit) {
        return unavailable("OVERLOADED", "overloaded: " + limit + " requests wait already", null);
    }

    /** The outcome for the counters: `Refused`, or the exception. */
    Throwable outcome() {
        return cause != null ? cause : new Refused(Code.BAD_REQUEST, getMessage());
    }
}
