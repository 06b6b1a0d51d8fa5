<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** Of durations: buckets of an eighth of a power of two, each a counter by itself. */
final class Histogram
{
    /** Units: ns; 18 minutes, and longer ones count as that. */
    private const MOST = 1 << 40;
    private const TIMES = '/^([0-9]{1,18}),([0-9]{1,18}),([0-9]{1,18})$/D';

    /** The place of a duration: numbers below 8 have their own, then there are 8 for each power of two. Units: ns. */
    public static function bucket(int $ns): int
    {
        if ($ns < 8) {
            return max($ns, 0);
        }
        $ns = min($ns, self::MOST);
        $e = strlen(decbin($ns)) - 1;
        return 8 * ($e - 2) + ($ns >> ($e - 3) & 7);
    }

    /**
     * Increments of the edge's counters for one call.
     *
     * @param string $times the header `s` of its answer: `queue,application,cpu` of the callee; any other text counts as absent
     * @return array<string, int>
     */
    public static function ofCall(string $edge, int $wall, string $times): array
    {
        $amounts = ["edge.$edge.wall." . self::bucket($wall) => 1];
        if (preg_match(self::TIMES, $times, $found) === 1) {
            $amounts["edge.$edge.queue." . self::bucket((int) $found[1])] = 1;
            $amounts["edge.$edge.application." . self::bucket((int) $found[2])] = 1;
            $amounts["edge.$edge.cpu." . self::bucket((int) $found[3])] = 1;
        }
        return $amounts;
    }
}
