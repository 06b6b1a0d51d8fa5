package movies.handlers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import movies.chassis.Failure;
import movies.idl.Code;
import movies.idl.Part;
import movies.idl.PartKind;
import movies.idl.Refused;
import movies.idl.Review;
import org.apache.thrift.TException;
import org.junit.jupiter.api.Test;

final class PartsTest {
    private static final Part LAST = new Part(PartKind.USER, 3, "");

    private static Parts withFour(long request) throws TException {
        Parts parts = new Parts();
        for (Part part : List.of(
                new Part(PartKind.ID, 5, ""), new Part(PartKind.MOVIE, 1, ""), new Part(PartKind.TEXT, 0, "Good."), new Part(PartKind.STARS, 9, ""))) {
            Parts.Now now = parts.put(request, part);
            assertFalse(now.isStored() || now.whole().isPresent());
        }
        return parts;
    }

    private static void refuses(Code code, Parts parts, long request, Part part) {
        assertEquals(code, assertThrows(Refused.class, () -> parts.put(request, part)).getCode());
    }

    @Test
    void whoBringsTheFifthPartGetsTheReview() throws TException {
        Parts parts = withFour(7);
        Review review = parts.put(7, LAST).whole().orElseThrow();
        assertEquals(new Review(5, 1, 3, "Good.", 9, review.getTime_ms()), review);
        parts.finish(7, true);
        assertTrue(parts.put(7, LAST).isStored(), "what is stored stays so");
    }

    @Test
    void aPartComesOnceMoreButNotAnother() throws TException {
        Parts parts = withFour(-8);
        assertFalse(parts.put(-8, new Part(PartKind.STARS, 9, "")).isStored());
        refuses(Code.CONFLICT, parts, -8, new Part(PartKind.STARS, 8, ""));
        assertEquals(9, parts.put(-8, LAST).whole().orElseThrow().getStars(), "what was refused changed nothing");
    }

    @Test
    void whatFailedIsTriedAgain() throws TException {
        Parts parts = withFour(9);
        assertTrue(parts.put(9, LAST).whole().isPresent());
        parts.finish(9, false);
        assertTrue(parts.put(9, LAST).whole().isPresent());
    }

    @Test
    void whatIsNoPartIsRefused() {
        Parts parts = new Parts();
        refuses(Code.BAD_REQUEST, parts, 1, new Part(PartKind.STARS, 11, ""));
        refuses(Code.BAD_REQUEST, parts, 1, new Part(PartKind.ID, 0, ""));
        refuses(Code.TOO_LARGE, parts, 1, new Part(PartKind.TEXT, 0, "x".repeat(8193)));
    }

    @Test
    void aPartThatComesMeanwhileWaitsForTheEnd() throws Exception {
        Parts parts = withFour(10);
        assertTrue(parts.put(10, LAST).whole().isPresent());
        FutureTask<Parts.Now> other = new FutureTask<>(() -> parts.put(10, LAST));
        new Thread(other).start();
        parts.finish(10, true);
        assertTrue(other.get().isStored());
    }

    @Test
    void oneOfManyAtOnceStoresIt() throws TException {
        Parts parts = withFour(11);
        long stored = IntStream.range(0, 8).parallel().filter(at -> {
            try {
                boolean mine = parts.put(11, LAST).whole().isPresent();
                if (mine) {
                    parts.finish(11, true);
                }
                return mine;
            } catch (Refused | Failure error) {
                throw new IllegalStateException(error);
            }
        }).count();
        assertEquals(1, stored);
        assertEquals(1, Stream.of(parts.put(11, LAST)).filter(Parts.Now::isStored).count());
    }
}
