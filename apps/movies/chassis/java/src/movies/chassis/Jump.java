package movies.chassis;

import java.nio.charset.StandardCharsets;

/** Which shard has a key: the jump consistent hash of its FNV-1a 64. */
final class Jump {
    /** Source: Fowler, Noll, Vo; draft-eastlake-fnv, 5. */
    private static final long FNV_OFFSET = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;
    /** Source: Lamping and Veach 2014, figure 1. */
    private static final long STEP = 2862933555777941757L;

    private Jump() {}

    static int shard(String key, int shards) {
        return shard(fnv(key.getBytes(StandardCharsets.UTF_8)), shards);
    }

    static long fnv(byte[] key) {
        long hash = FNV_OFFSET;
        for (byte one : key) {
            hash = (hash ^ (one & 0xff)) * FNV_PRIME;
        }
        return hash;
    }

    static int shard(long hash, int shards) {
        long at = -1;
        long next = 0;
        while (next < shards) {
            at = next;
            hash = hash * STEP + 1;
            next = (long) ((at + 1) * ((double) (1L << 31) / ((hash >>> 33) + 1)));
        }
        return (int) at;
    }
}
