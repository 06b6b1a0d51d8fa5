<?php

declare(strict_types=1);

namespace Movies\Chassis;

/**
 * Keeps from asking an optional service that times out again and again, so that requests do not wait for it in vain. Open, it lets one
 * call through after each back-off (half-open); an answer of any kind closes it.
 *
 * All processes of a service share its state, in APCu.
 */
final class Breaker
{
    /** Time-outs in a row that open it. Source: ours. */
    public const TIME_OUTS = 5;
    /** How long an open one waits before a call tries the service; each try that times out doubles it. Units: ms. */
    public const FIRST = 1_000;
    public const LONGEST = 30_000;

    private readonly string $key;

    public function __construct(private readonly string $callee, private readonly Counts $counts)
    {
        $this->key = "breaker:$callee";
    }

    /** Whether a call may begin: true, or that it is the `try` of an open breaker, or false. */
    public function admits(int $now): bool|string
    {
        $wait = self::number("$this->key:wait");
        if ($wait === 0) {
            return true;
        }
        $until = self::number("$this->key:until");
        // Others wait for the outcome of the one that sets the time first.
        if ($now >= $until && apcu_cas("$this->key:until", $until, $now + $wait * 1_000_000)) {
            return 'try';
        }
        $this->counts->add(["breaker.$this->callee.refused" => 1]);
        return false;
    }

    /** The outcome of a call that was admitted. Calls that began before it opened may time out later, and are no tries. */
    public function ended(bool $isTimeOut, bool|string $admitted, int $now): void
    {
        $wait = self::number("$this->key:wait");
        if (!$isTimeOut) {
            if (self::number("$this->key:timeouts") !== 0) {
                apcu_store("$this->key:timeouts", 0);
            }
            if ($wait !== 0 && apcu_cas("$this->key:wait", $wait, 0)) {
                $this->counts->add(["breaker.$this->callee.open" => -1]);
            }
            return;
        }
        if ($wait === 0) {
            if (apcu_inc("$this->key:timeouts") < self::TIME_OUTS) {
                return;
            }
            apcu_add("$this->key:wait", 0);
            // Before it is open, so that no call sees an old time.
            apcu_store("$this->key:until", $now + self::FIRST * 1_000_000);
            if (apcu_cas("$this->key:wait", 0, self::FIRST)) {
                $this->counts->add(["breaker.$this->callee.open" => 1, "breaker.$this->callee.opened" => 1]);
            }
        } elseif ($admitted === 'try') {
            apcu_store("$this->key:wait", min(2 * $wait, self::LONGEST));
            apcu_store("$this->key:until", $now + min(2 * $wait, self::LONGEST) * 1_000_000);
        }
    }

    private static function number(string $key): int
    {
        return (int) apcu_fetch($key);
    }
}
