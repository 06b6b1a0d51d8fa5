<?php

declare(strict_types=1);

namespace Movies\Chassis;

/**
 * Counters of forked workers: one row of numbers for each in memory that they share. A row has one writer, so nothing is
 * locked, and a worker that is killed leaves no lock behind; the next one in its place goes on with the row.
 */
final class SlotCounts implements Counts
{
    private readonly \Shmop $memory;
    /** @var array<string, int> the place of each name in a row */
    private readonly array $places;
    private readonly int $size;
    private int $slot = 0;
    /** @var list<int> the row of this process; the last number says whether it has a connection */
    private array $row;

    /** @param list<string> $names */
    public function __construct(array $names, private readonly int $slots)
    {
        $this->places = array_flip($names);
        $this->size = 8 * (count($names) + 1);
        $memory = shmop_open(0, 'n', 0600, $this->size * $slots);
        if ($memory === false) {
            throw new \RuntimeException('no memory for ' . $this->size * $slots . ' bytes of counters');
        }
        $this->memory = $memory;
        // The memory goes when the last process that has it ends.
        shmop_delete($memory);
        $this->row = array_fill(0, count($names) + 1, 0);
    }

    /** Counts in this row from now on. */
    public function own(int $slot): void
    {
        $this->slot = $slot;
        $this->row = $this->read($slot);
        $this->setBusy(false);
    }

    public function add(array $amounts): void
    {
        foreach ($amounts as $name => $amount) {
            $this->row[$this->places[$name]] += $amount;
        }
        $this->write();
    }

    public function setBusy(bool $isBusy): void
    {
        $this->row[count($this->places)] = (int) $isBusy;
        $this->write();
    }

    /** Whether a worker has no connection. The last row belongs to the parent process, which never has one. */
    public function hasFree(): bool
    {
        for ($slot = 0; $slot < $this->slots - 1; $slot++) {
            if ($this->read($slot)[count($this->places)] === 0) {
                return true;
            }
        }
        return false;
    }

    public function all(): array
    {
        $all = array_map(static fn (): int => 0, $this->places);
        for ($slot = 0; $slot < $this->slots; $slot++) {
            $row = $this->read($slot);
            foreach ($this->places as $name => $place) {
                $all[$name] += $row[$place];
            }
        }
        return $all;
    }

    /** @return list<int> */
    private function read(int $slot): array
    {
        return array_values(unpack('P*', shmop_read($this->memory, $slot * $this->size, $this->size)));
    }

    private function write(): void
    {
        shmop_write($this->memory, pack('P*', ...$this->row), $this->slot * $this->size);
    }
}
