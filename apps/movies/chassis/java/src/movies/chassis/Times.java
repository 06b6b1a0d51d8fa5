package movies.chassis;

/** Time in the queue, the application and the processor, from the header `s` of an answer. Units: ns. */
record Times(long queue, long application, long processor) {
    private static final int MOST_DIGITS = 18;

    /** Null unless it is three numbers of up to 18 digits, separated by commas. */
    static Times parse(String text) {
        if (text == null) {
            return null;
        }
        long[] parts = new long[3];
        int part = 0;
        int digits = 0;
        for (int at = 0; at < text.length(); at++) {
            char one = text.charAt(at);
            if (one >= '0' && one <= '9' && digits < MOST_DIGITS) {
                parts[part] = parts[part] * 10 + (one - '0');
                digits++;
            } else if (one == ',' && digits > 0 && part < 2) {
                part++;
                digits = 0;
            } else {
                return null;
            }
        }
        return part == 2 && digits > 0 ? new Times(parts[0], parts[1], parts[2]) : null;
    }
}
