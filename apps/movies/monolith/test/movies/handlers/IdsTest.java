package movies.handlers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class IdsTest {
    private static final long EPOCH_MS = 1_577_836_800_000L;

    @Test
    void haveTheirPartsInTheirPlaces() {
        Ids ids = new Ids(1023, () -> EPOCH_MS + 5);
        long id = ids.getAsLong();
        assertEquals("5 1023 0", (id >> 22) + " " + (id >> 12 & 1023) + " " + (id & 4095));
        assertEquals(id + 1, ids.getAsLong());
        assertThrows(IllegalArgumentException.class, () -> new Ids(1024, () -> EPOCH_MS));
    }

    @Test
    void goOnWhenTheClockGoesBackOrAMillisecondIsFull() {
        long[] walls = {EPOCH_MS + 1000, EPOCH_MS + 999, EPOCH_MS, EPOCH_MS - 1, 0, -5, EPOCH_MS + 1000, EPOCH_MS + 1001};
        int[] at = {0};
        Ids ids = new Ids(1, () -> walls[Math.min(at[0]++, walls.length - 1)]);
        long last = 0;
        for (int i = 0; i < 3 * 4096; i++) {
            long id = ids.getAsLong();
            assertTrue(id > last && (id >> 12 & 1023) == 1, id + " after " + last);
            last = id;
        }
    }

    @Test
    void noneComesTwice() {
        Ids ids = new Ids(0);
        int n = 100_000;
        assertEquals(n, LongStream.range(0, n).parallel().map(one -> ids.getAsLong()).distinct().count());
    }
}
