package movies.chassis;

import movies.idl.Refused;

/** How it went; the place of a value is its number in spans. */
enum Outcome {
    OK,
    REFUSED,
    FAILED,
    DEADLINE;

    static Outcome of(Throwable error) {
        if (error == null) {
            return OK;
        }
        if (error instanceof Refused) {
            return REFUSED;
        }
        return error instanceof Failure.DeadlineSpent ? DEADLINE : FAILED;
    }
}
