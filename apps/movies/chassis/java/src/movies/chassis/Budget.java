package movies.chassis;

/** How many calls of an edge may be asked once more: a tenth. Source of the numbers: the contract of the application. */
final class Budget {
    private static final double A_CALL = 0.1;
    private static final double MOST = 10;

    private double tokens = MOST;

    synchronized void earn() {
        tokens = Math.min(MOST, tokens + A_CALL);
    }

    synchronized boolean spend() {
        if (tokens < 1) {
            return false;
        }
        tokens -= 1;
        return true;
    }
}
