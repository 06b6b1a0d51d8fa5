<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** The request that this process works on: until when, and whose trace it belongs to. */
final class Context
{
    /** Of a request that says none. Units: ms. */
    public const DEFAULT_MS = 2000;
    private const TRACEPARENT = '/^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/D';

    /** CLOCK_MONOTONIC. Units: ns. */
    public int $end = PHP_INT_MAX;
    /** Whether spans are written. */
    public bool $isSampled = false;
    /** 32 digits of base 16; empty: it belongs to no trace. */
    public string $trace = '';
    /** The caller's span, and this service's own: 16 digits of base 16. */
    public string $parent = '';
    public string $span = '';

    /** @param int $begun CLOCK_MONOTONIC in ns, from which on the time left counts */
    public function begin(string $traceparent, ?string $left, int $begun): void
    {
        // 9 digits of ms are 11 days.
        $ms = $left !== null && preg_match('/^[0-9]{1,9}$/D', $left) === 1 ? (int) $left : self::DEFAULT_MS;
        $this->end = $begun + $ms * 1_000_000;
        $isTraced = preg_match(self::TRACEPARENT, $traceparent, $found) === 1;
        [$this->trace, $this->parent] = $isTraced ? [$found[1], $found[2]] : ['', ''];
        $this->isSampled = $isTraced && (hexdec($found[3]) & 1) === 1;
        $this->span = $this->isSampled ? self::newSpan() : $this->parent;
    }

    /** The remaining time. Units: ns. */
    public function left(): int
    {
        return $this->end - hrtime(true);
    }

    /** Errors: its time is used up. */
    public function check(string $what): void
    {
        if ($this->left() <= 0) {
            throw Failure::deadline($what);
        }
    }

    public static function newSpan(): string
    {
        do {
            $span = random_bytes(8);
        } while ($span === "\0\0\0\0\0\0\0\0");
        return bin2hex($span);
    }
}
