package movies.handlers;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import movies.chassis.Failure;
import movies.chassis.Store;
import movies.idl.Code;
import movies.idl.Refused;

/**
 * Proofs of logins, `USER.EXPIRY.NONCE.HMAC`, which any service that has the secret checks by itself. By the nonce two logins of a user
 * in one second have two tokens.
 */
public final class Tokens {
    /** From a login on. Source: the contract of the application. Units: s. */
    public static final long LIFE_S = 24 * 60 * 60;
    private static final String HMAC = "HmacSHA256";
    private static final Pattern FORM =
            Pattern.compile("(([1-9][0-9]{0,18})\\.([1-9][0-9]{0,18})\\.[0-9a-f]{16})\\.([0-9a-f]{64})");
    private static final SecureRandom RANDOM = new SecureRandom();

    private final SecretKeySpec secret;

    /** `secret`: in hexadecimal digits. */
    public Tokens(String secret) {
        this.secret = new SecretKeySpec(HexFormat.of().parseHex(secret), HMAC);
    }

    public String make(long user, long expiresS) {
        return make(user, expiresS, HexFormat.of().toHexDigits(RANDOM.nextLong()));
    }

    String make(long user, long expiresS, String nonce) {
        String named = user + "." + expiresS + "." + nonce;
        return named + "." + HexFormat.of().formatHex(hmac(named));
    }

    /** The key of a token that {@link #user} takes among those that were ended. */
    static String id(String token) {
        return token.substring(0, token.lastIndexOf('.')).replace('.', '#');
    }

    /** Errors: `Refused`, if a log-out has ended the token. */
    static void checkIsAlive(String ended) throws Refused {
        if (ended != null) {
            throw new Refused(Code.UNAUTHORIZED, "the token was ended by a log-out; log in again");
        }
    }

    /** The token's user. Errors: `Refused` if it is invalid, has expired, or a log-out has ended it. */
    long user(String token, Store store) throws Refused, Failure {
        long user = user(token);
        checkIsAlive(store.get("ended", id(token)));
        return user;
    }

    /** The token's user. Errors: `Refused` if it is invalid or has expired. */
    public long user(String token) throws Refused {
        return user(token, Instant.now().getEpochSecond());
    }

    long user(String token, long nowS) throws Refused {
        Matcher parts = FORM.matcher(token);
        if (!parts.matches()) {
            throw none();
        }
        byte[] given = HexFormat.of().parseHex(parts.group(4));
        if (!MessageDigest.isEqual(given, hmac(parts.group(1)))) {
            throw none();
        }
        try {
            if (Long.parseLong(parts.group(3)) > nowS) {
                return Long.parseLong(parts.group(2));
            }
        } catch (NumberFormatException tooLarge) {
            throw none();
        }
        throw new Refused(Code.UNAUTHORIZED, "the token has expired; log in again");
    }

    private static Refused none() {
        return new Refused(Code.UNAUTHORIZED, "this is not a token that was given out here");
    }

    private byte[] hmac(String text) {
        try {
            Mac mac = Mac.getInstance(HMAC);
            mac.init(secret);
            return mac.doFinal(text.getBytes(StandardCharsets.US_ASCII));
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("every Java platform has " + HMAC, impossible);
        }
    }
}
