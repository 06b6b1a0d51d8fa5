package movies.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import movies.chassis.Failure;
import movies.idl.Code;
import movies.idl.Refused;
import org.junit.jupiter.api.Test;

final class ProblemTest {
    private static void check(Throwable error, int status, String name) {
        Problem problem = Problem.of(error);
        assertEquals(status + " " + name, problem.status + " " + problem.name);
    }

    @Test
    void failuresHaveTheStatusOfTheirKind() {
        check(new Failure.DeadlineSpent("late"), 504, "DEADLINE");
        check(new Failure.Overloaded("compose-page: movie-info: 64 requests wait already"), 503, "OVERLOADED");
        check(new Failure.Unavailable("compose-page: gone"), 503, "UNAVAILABLE");
        // Only the beginning of a message decides, not later text.
        check(new Failure.Unavailable("compose-page: no film is called overloaded: x"), 503, "UNAVAILABLE");
        check(new Refused(Code.UNAVAILABLE, "later"), 503, "UNAVAILABLE");
        check(new Refused(Code.NOT_FOUND, "no film"), 404, "NOT_FOUND");
        check(new IllegalStateException("inside"), 500, "INTERNAL");
    }
}
