package movies.handlers;

import com.google.gson.JsonObject;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import movies.chassis.Cache;
import movies.chassis.Checks;
import movies.chassis.Documents;
import movies.chassis.Failure;
import movies.chassis.Handler;
import movies.chassis.Store;
import movies.idl.Code;
import movies.idl.ComposeReview;
import movies.idl.MovieIdService;
import movies.idl.Part;
import movies.idl.PartKind;
import movies.idl.Refused;
import org.apache.thrift.TException;

/** The films that titles name. */
public final class MovieIdHandler extends Handler implements MovieIdService.Iface {
    private final Documents titles;
    private final ComposeReview.Iface reviews;

    public MovieIdHandler(Store store, Cache cache, ComposeReview.Iface reviews) {
        titles = new Documents(store, cache, "titles", title -> "title:" + sha1(title));
        this.reviews = reviews;
    }

    @Override
    public long upload(long request, String title) throws TException {
        long movie = find(title);
        reviews.put(request, new Part(PartKind.MOVIE, movie, ""));
        return movie;
    }

    private long find(String title) throws Refused, Failure {
        Checks.size("title", title, Checks.LONGEST_LINE);
        if (title.isEmpty() || title.chars().anyMatch(c -> c < ' ' || c == 0x7f)) {
            throw new Refused(Code.BAD_REQUEST, "title takes a text of UTF-8 without control characters, and not nothing");
        }
        // Letter by letter, as ids are made: a word's end or a language has no say in it.
        String lower = title.codePoints().map(Character::toLowerCase)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append).toString();
        JsonObject document = titles.get(lower);
        if (document == null) {
            throw new Refused(Code.NOT_FOUND, "no movie has the title `" + title + "`");
        }
        return Documents.number(document, "movie");
    }

    /** Keys of caches have no blanks and at most 250 bytes, which titles need not have. */
    private static String sha1(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException("every Java platform has SHA-1", impossible);
        }
    }
}
