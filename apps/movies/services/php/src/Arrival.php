<?php

declare(strict_types=1);

namespace Movies\Php;

/**
 * When a request came to PHP: as the web server handed it on. PHP itself sees it only once a process takes it, and nothing of its
 * wait for one, in which its time runs.
 */
final class Arrival
{
    /** The web server's clock is cut off to this, all of which is left out, so that nothing counts as a wait that was none. Units: ns. */
    private const CUT_NS = 1_000_000;
    /** Nobody waits so long for an answer: the clock of the web server, which may be on another machine, is wrong then. Units: ns. */
    private const MOST_NS = 60_000_000_000;

    /**
     * How long it had waited for a process when that began. Units: ns.
     *
     * @param string $handedOn by the web server's clock, in s since 1970 with three places; where it is none, it did not wait
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
