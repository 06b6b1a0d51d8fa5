<?php

declare(strict_types=1);

namespace Movies\Chassis;

/**
 * Calls other services, several at a time in one process: `start` sends, `Call::result` waits until all that were started
 * have ended.
 */
final class Caller
{
    /** @var array<int, Call> */
    private array $underWay = [];

    public function __construct(
        public readonly Config $config,
        public readonly Context $context,
        public readonly Counts $counts,
        public readonly Spans $spans,
    ) {
    }

    public function start(string $callee, string $method, mixed ...$arguments): Call
    {
        $call = new Call($this, $callee, $method, $arguments);
        $call->begin();
        if (!$call->hasEnded()) {
            $this->underWay[spl_object_id($call)] = $call;
        }
        return $call;
    }

    /** Waits until all calls have ended, each at its time at the latest. */
    public function finish(): void
    {
        while ($this->underWay !== []) {
            $read = $write = $none = [];
            $end = PHP_INT_MAX;
            foreach ($this->underWay as $id => $call) {
                $stream = $call->connection()->stream;
                $read[$id] = $stream;
                if (!$call->connection()->isFlushed()) {
                    $write[$id] = $stream;
                }
                $end = min($end, $call->end);
            }
            $us = intdiv(max(0, $end - hrtime(true)), 1000) + 1;
            @stream_select($read, $write, $none, intdiv($us, 1_000_000), $us % 1_000_000);
            foreach (array_keys($write) as $id) {
                $this->underWay[$id]->writable();
            }
            foreach (array_keys($read) as $id) {
                $this->underWay[$id]->readable();
            }
            $now = hrtime(true);
            foreach ($this->underWay as $id => $call) {
                $call->expire($now);
                if ($call->hasEnded()) {
                    unset($this->underWay[$id]);
                }
            }
        }
    }
}
