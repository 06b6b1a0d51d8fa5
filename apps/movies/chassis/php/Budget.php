<?php

declare(strict_types=1);

namespace Movies\Chassis;

/**
 * How many calls of an edge may be made a second time: one in ten, so that a callee that is in trouble gets little more
 * than its usual load. It is kept in APCu, as a process of php-fpm forgets all with its request.
 */
final class Budget
{
    /** Units: tenths of a retry. */
    private const MOST = 100;
    private const RETRY = 10;

    public static function earn(string $edge): void
    {
        apcu_add("budget.$edge", self::MOST);
        if (apcu_inc("budget.$edge") > self::MOST) {
            apcu_dec("budget.$edge");
        }
    }

    /** Whether a retry may be made, which then is paid for. */
    public static function spend(string $edge): bool
    {
        do {
            $there = apcu_fetch("budget.$edge");
            if (!is_int($there) || $there < self::RETRY) {
                return false;
            }
        } while (!apcu_cas("budget.$edge", $there, $there - self::RETRY));
        return true;
    }

    /** The place of the replica whose turn it is. */
    public static function turn(string $callee, int $replicas): int
    {
        return $replicas === 1 ? 0 : (int) apcu_inc("turn.$callee") % $replicas;
    }
}
