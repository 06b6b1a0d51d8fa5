<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** Which shard has a key: the jump consistent hash of the key's FNV-1a of 64 bits. Source: Lamping and Veach, arXiv:1406.2294. */
final class Jump
{
    private const MULTIPLIER = 2862933555777941757;

    public static function shard(string $key, int $shards): int
    {
        return self::hash(unpack('J', hash('fnv1a64', $key, true))[1], $shards);
    }

    /** @param int $key 64 bits; PHP takes the highest for a sign */
    public static function hash(int $key, int $shards): int
    {
        $shard = -1;
        $next = 0;
        while ($next < $shards) {
            $shard = $next;
            $key = self::step($key);
            $next = (int) (($shard + 1) * (2147483648.0 / ((($key >> 33) & 0x7fffffff) + 1)));
        }
        return $shard;
    }

    /** `key * MULTIPLIER + 1` of 64 bits, in halves: on overflow PHP would turn it into a float. */
    private static function step(int $key): int
    {
        [$low, $high] = [$key & 0xffffffff, ($key >> 32) & 0xffffffff];
        [$lower, $higher] = [self::MULTIPLIER & 0xffffffff, self::MULTIPLIER >> 32];
        // 32 times 32 bits may have 64, so one factor is taken in 16 bits each.
        $first = $low * ($lower & 0xffff);
        $second = $low * ($lower >> 16);
        $sum = ($first & 0xffffffff) + (($second & 0xffff) << 16) + 1;
        $carry = ($first >> 32) + ($second >> 16) + ($sum >> 32);
        $cross = self::low($low, $higher) + self::low($high, $lower);
        return ((($carry + $cross) & 0xffffffff) << 32) | ($sum & 0xffffffff);
    }

    /** The lower 32 bits of a product. */
    private static function low(int $a, int $b): int
    {
        return ($a * ($b & 0xffff) + ((($a * ($b >> 16)) & 0xffff) << 16)) & 0xffffffff;
    }
}
