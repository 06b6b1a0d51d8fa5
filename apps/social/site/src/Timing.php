<?php

declare(strict_types=1);

namespace Social;

/** How often another program was called, and how long that took. */
final class Timing
{
    public int $calls = 0;
    private int $spent = 0;

    /** Runs `$call` and counts it, even if it fails. */
    public function of(callable $call): mixed
    {
        $begun = hrtime(true);
        try {
            return $call();
        } finally {
            $this->calls++;
            $this->spent += hrtime(true) - $begun;
        }
    }

    public function milliseconds(): float
    {
        return $this->spent / 1e6;
    }

    /**
     * The header `Server-Timing` of an answer: the request's wait for a process, PHP's own time, and the time and number of calls of
     * database and cache.
     */
    public static function header(self $db, self $cache): string
    {
        $begun = (float) $_SERVER['REQUEST_TIME_FLOAT'];
        $whole = (microtime(true) - $begun) * 1e3;
        $php = max(0.0, $whole - $db->milliseconds() - $cache->milliseconds());
        return sprintf(
            '%sphp;dur=%.3f, db;dur=%.3f;desc="%d", cache;dur=%.3f;desc="%d"',
            self::queue((string) ($_SERVER['HANDED_ON'] ?? ''), $begun),
            $php,
            $db->milliseconds(),
            $db->calls,
            $cache->milliseconds(),
            $cache->calls,
        );
    }
    /** How long it waited since the web server handed it on, by that server's clock in whole milliseconds; empty if unknown. */
    public static function queue(string $handedOn, float $begun): string
    {
        if (preg_match('/^[0-9]{1,12}\.[0-9]{3}$/D', $handedOn) !== 1) {
            return '';
        }
        // The truncation cut off half a millisecond on average.
        return sprintf('queue;dur=%.3f, ', max(0.0, ($begun - (float) $handedOn) * 1e3 - 0.5));
    }
}
