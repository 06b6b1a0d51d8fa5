package movies.handlers;

import at.favre.lib.crypto.bcrypt.BCrypt;
import at.favre.lib.crypto.bcrypt.LongPasswordStrategies;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import movies.chassis.Config;
import movies.chassis.ConfigError;

/** Hashes passwords, and takes as long for users that do not exist. */
final class Passwords {
    /** Bytes of a password that bcrypt uses. */
    static final int LONGEST = 72;
    /** Default of `hash_cost`, as in the Go service: the default of its bcrypt, about 50 ms of a processor. */
    private static final int USUAL_COST = 10;
    private static final int LEAST_COST = 4;
    private static final int MOST_COST = 31;
    private static final BCrypt.Version VERSION = BCrypt.Version.VERSION_2A;

    // All 72 bytes count, as elsewhere, and longer ones are refused before.
    private final BCrypt.Hasher hasher = BCrypt.with(VERSION, new SecureRandom(), LongPasswordStrategies.none());
    private final BCrypt.Verifyer verifyer = BCrypt.verifyer(VERSION, LongPasswordStrategies.none());
    private final int cost;
    /** Hash of no password, at the configured cost, which the data set and new hashes share. */
    final byte[] dummy;

    Passwords(Config config) throws ConfigError {
        this(config.number("hash_cost", USUAL_COST, LEAST_COST, MOST_COST));
    }

    Passwords(int cost) {
        this.cost = cost;
        dummy = hasher.hash(cost, "no password has this many bytes, since they end at 72".getBytes(StandardCharsets.UTF_8));
    }

    String hash(String password) {
        return new String(hasher.hash(cost, password.getBytes(StandardCharsets.UTF_8)), StandardCharsets.US_ASCII);
    }

    /** With an empty hash it is false, and takes as long as with another. */
    boolean check(String hash, String password) {
        byte[] known = hash.isEmpty() ? dummy : hash.getBytes(StandardCharsets.UTF_8);
        return verifyer.verify(password.getBytes(StandardCharsets.UTF_8), known).verified && !hash.isEmpty();
    }
}
