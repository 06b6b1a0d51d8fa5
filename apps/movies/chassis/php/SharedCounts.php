<?php

declare(strict_types=1);

namespace Movies\Chassis;

/**
 * Counters of requests under php-fpm. Only APCu's memory outlives a request of a process; all workers of one php-fpm share
 * it. A request adds its counts at its end.
 */
final class SharedCounts implements Counts
{
    private const PREFIX = 'movies.';

    /** @var array<string, int> */
    private array $new = [];

    public function add(array $amounts): void
    {
        foreach ($amounts as $name => $amount) {
            $this->new[$name] = ($this->new[$name] ?? 0) + $amount;
        }
    }

    public function flush(): void
    {
        foreach ($this->new as $name => $amount) {
            apcu_inc(self::PREFIX . $name, $amount);
        }
        $this->new = [];
    }

    public function all(): array
    {
        $this->flush();
        $all = array_fill_keys(self::NAMES, 0);
        foreach (new \APCUIterator('/^' . preg_quote(self::PREFIX, '/') . '/') as $one) {
            $all[substr($one['key'], strlen(self::PREFIX))] = $one['value'];
        }
        return $all;
    }
}
