package movies.handlers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import movies.idl.Code;
import movies.idl.Refused;
import org.junit.jupiter.api.Test;

final class TokensTest {
    @Test
    void tokensAreThoseOfTheVectors() throws IOException, Refused {
        Path file = Path.of(System.getProperty("movies.contract"), "vectors.json");
        JsonObject vectors = JsonParser.parseString(Files.readString(file)).getAsJsonObject().getAsJsonObject("tokens");
        Tokens tokens = new Tokens(vectors.get("secret").getAsString());
        long now = vectors.get("now_s").getAsLong();
        for (JsonElement each : vectors.getAsJsonArray("good")) {
            JsonObject one = each.getAsJsonObject();
            String token = one.get("token").getAsString();
            String nonce = token.split("\\.")[2];
            assertEquals(token, tokens.make(one.get("user").getAsLong(), one.get("expires_s").getAsLong(), nonce));
            assertEquals(one.get("user").getAsLong(), tokens.user(token, now));
        }
        for (JsonElement each : vectors.getAsJsonArray("bad")) {
            JsonObject one = each.getAsJsonObject();
            Refused refused =
                    assertThrows(Refused.class, () -> tokens.user(one.get("token").getAsString(), now), one.get("why").getAsString());
            assertEquals(Code.UNAUTHORIZED, refused.getCode());
        }
    }

    @Test
    void twoLoginsOfASecondHaveTwoTokens() throws Refused {
        Tokens tokens = new Tokens("00".repeat(32));
        String one = tokens.make(7, 1001);
        String other = tokens.make(7, 1001);
        assertEquals("7 7", tokens.user(one, 1000) + " " + tokens.user(other, 1000));
        assertNotEquals(one, other);
        assertNotEquals(Tokens.id(one), Tokens.id(other));
    }

    @Test
    void passwordsAreTakenOrRefused() {
        Passwords passwords = new Passwords(4);
        String hash = passwords.hash("password-1");
        assertTrue(hash.startsWith("$2a$04$"), hash);
        // The hash that is compared for an unknown name.
        for (int cost : new int[] {4, 5}) {
            String dummy = new String(new Passwords(cost).dummy, StandardCharsets.US_ASCII);
            assertTrue(dummy.startsWith("$2a$0" + cost + "$"), dummy);
        }
        assertEquals("true false false false", passwords.check(hash, "password-1") + " " + passwords.check(hash, "password-2") + " "
                + passwords.check("", "password-1") + " " + passwords.check("no hash", "password-1"));
        // Of Python's bcrypt, which the data set is made with; and all of 72 bytes count.
        assertTrue(passwords.check("$2b$04$JQOIDorZrfepe2q0npR2XO8v6VTZo/PE7JGRdyNBlTiZpFeUsiKve", "password-1"));
        String longest = "x".repeat(72);
        String other = passwords.hash(longest);
        assertEquals("true false", passwords.check(other, longest) + " " + passwords.check(other, "x".repeat(71) + "y"));
    }
}
