<?php

declare(strict_types=1);

namespace Social;

/** How often another program was called, and how long that took. */
final class Timing
{
    public int $calls = 0;
    private int $spent = 0;

    /** Runs `$call` and counts it, also where it fails. */
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

    /** The header `Server-Timing` of an answer: PHP without what it waited for, and what that was. */
    public static function header(self $db, self $cache): string
    {
        $whole = (microtime(true) - (float) $_SERVER['REQUEST_TIME_FLOAT']) * 1e3;
        $php = max(0.0, $whole - $db->milliseconds() - $cache->milliseconds());
        return sprintf(
            'php;dur=%.3f, db;dur=%.3f;desc="%d", cache;dur=%.3f;desc="%d"',
            $php,
            $db->milliseconds(),
            $db->calls,
            $cache->milliseconds(),
            $cache->calls,
        );
    }
}
