package movies.chassis;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;

/** Addresses of a clip that are valid for one user and some time: the same hash as NGINX's `secure_link_md5`. */
public final class SignedAddress {
    /** Source: the contract of the application. Units: s. */
    public static final long LIFE_S = 4 * 60 * 60;

    private final String secret;

    public SignedAddress(String secret) {
        this.secret = secret;
        // Loads the classes now rather than at the first rental.
        of(0, 0, "");
    }

    /** Path of the master playlist; its signature covers all files below the same prefix. */
    public String of(long user, long expiresS, String clip) {
        String named = expiresS + "/" + user + "/" + clip;
        byte[] text = (named + " " + secret).getBytes(StandardCharsets.UTF_8);
        try {
            byte[] digest = MessageDigest.getInstance("MD5").digest(text);
            String signature = Base64.getUrlEncoder().withoutPadding().encodeToString(digest);
            return "/hls/" + signature + "/" + named + "/master.m3u8";
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException("every Java platform has MD5", impossible);
        }
    }
}
