<?php

declare(strict_types=1);

// Helpers of the PHP tests: each line of output is a failure, and the last one counts them.

namespace Movies\Tests;

require dirname(__DIR__) . '/load.php';

final class Tally
{
    public static int $checks = 0;
    public static int $failures = 0;
}

function same(mixed $found, mixed $expect, string $what): void
{
    Tally::$checks++;
    if ($found !== $expect) {
        Tally::$failures++;
        echo "$what: ", var_export($found, true), ' and not ', var_export($expect, true), "\n";
    }
}

/**
 * The class of the call's exception; empty on success.
 *
 * @param callable(): mixed $call
 */
function thrown(callable $call): string
{
    try {
        $call();
        return '';
    } catch (\Throwable $error) {
        return $error::class;
    }
}

/** Ends the program. */
function tell(): never
{
    echo Tally::$checks, ' checks, ', Tally::$failures, " failures\n";
    exit(Tally::$failures === 0 ? 0 : 1);
}
