<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** Counters of all processes of a service since its start. */
interface Counts
{
    /**
     * Counters that every service has. Counters of edges are `edge.CALLEE.METHOD.calls`, `.errors` and `.ns`, and of calls of services
     * `.wall.BUCKET`, `.queue.BUCKET`, `.application.BUCKET` and `.cpu.BUCKET`.
     */
    public const NAMES = ['requests', 'errors', 'refused', 'deadline', 'overloaded', 'degraded', 'retries', 'bad_frames',
        'connections', 'spans', 'queue_ns', 'application_ns', 'cpu_ns'];

    /** @param array<string, int> $amounts by name */
    public function add(array $amounts): void;

    /** @return array<string, int> */
    public function all(): array;
}
