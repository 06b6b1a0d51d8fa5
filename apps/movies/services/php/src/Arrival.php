<?php

declare(strict_types=1);

namespace Movies\Php;

/**
 * Arrival of a request: the moment at which the web server handed it on. PHP sees a request only once a process takes it, and
 * cannot measure the wait for a process, which counts towards the deadline.
 */
final class Arrival
{
    /** Resolution of the web server's clock, subtracted in full so that no wait is overestimated. Units: ns. */
    private const CUT_NS = 1_000_000;
    /** Longer waits are clock errors: the web server may be on another machine. Units: ns. */
    private const MOST_NS = 60_000_000_000;

    /**
     * How long the request waited for a process. Units: ns.
     *
     * @param string $handedOn by the web server's clock, in s since 1970 with three places; any other text counts as no wait
     * @param float $begun by the wall clock here, in s since 1970
     */
    public static function waited(string $handedOn, float $begun): int
    {
        if (preg_match('/^[0-9]{1,12}\.[0-9]{3}$/D', $handedOn) !== 1) {
            return 0;
        }
        $ns = (int) (($begun - (float) $handedOn) * 1e9) - self::CUT_NS;
        return $ns > self::MOST_NS ? 0 : max(0, $ns);
    }
}
