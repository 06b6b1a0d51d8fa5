<?php

declare(strict_types=1);

namespace Movies\Chassis;

use Thrift\Exception\TException;

/**
 * A process that serves one request after the other, in order on each connection. While other workers are free it has one
 * connection; after that a worker with silent connections takes more, so that callers that vanished, or hold unused
 * connections, cannot occupy all workers.
 */
final class Worker
{
    /** How long spans wait at most. Units: µs. */
    private const FLUSH_US = 100_000;
    /** Without a request for this long, a worker takes another connection. Units: ns. */
    private const SILENT_NS = 100_000_000;
    /** For a worker without a connection to take one that waits. Units: µs. */
    private const LEFT_TO_OTHERS_US = 1000;
    /** How long a caller may take to read an answer: as in the other chassis. */
    private const LONGEST_WRITE_NS = 2_000_000_000;

    private bool $isDraining = false;
    /** @var array<int, Connection> by the number of their stream */
    private array $connections = [];
    /** When a request was last answered, or a connection taken. Units: ns. */
    private int $busyAt = 0;

    /**
     * @param resource $listener shared by all workers
     * @param resource $parent readable once the parent ends, or is gone
     */
    public function __construct(
        private readonly mixed $listener,
        private readonly mixed $parent,
        private readonly SlotCounts $counts,
        private readonly Spans $spans,
        private readonly Requests $requests,
    ) {
    }

    public function run(): void
    {
        pcntl_signal(SIGTERM, function (): void {
            $this->isDraining = true;
        });
        while (!$this->isDraining) {
            foreach ($this->ready() as $stream) {
                match (true) {
                    $stream === $this->parent => $this->isDraining = true,
                    $stream === $this->listener => $this->accept(),
                    default => $this->serve($this->connections[(int) $stream]),
                };
            }
        }
        // Requests already received are still answered.
        foreach ($this->connections as $connection) {
            $this->serve($connection);
        }
        $this->spans->flush();
    }

    /**
     * Waits until streams are readable, and returns them.
     *
     * @return list<resource>
     */
    private function ready(): array
    {
        $read = array_map(static fn (Connection $one): mixed => $one->stream, array_values($this->connections));
        $read[] = $this->parent;
        $left = $this->connections === [] ? 0 : $this->busyAt + self::SILENT_NS - hrtime(true);
        if ($left <= 0) {
            $read[] = $this->listener;
        }
        $wait = $left <= 0 ? PHP_INT_MAX : intdiv($left, 1000) + 1;
        if ($this->spans->areWaiting()) {
            $wait = min($wait, self::FLUSH_US);
        }
        $none = null;
        $isEndless = $wait === PHP_INT_MAX;
        $found = @stream_select($read, $none, $none, $isEndless ? null : 0, $isEndless ? null : $wait);
        if ($found === 0) {
            $this->spans->flush();
        }
        return $found > 0 ? array_values($read) : [];
    }

    private function accept(): void
    {
        if ($this->connections !== [] && $this->counts->hasFree()) {
            usleep(self::LEFT_TO_OTHERS_US);
            return;
        }
        // Another worker may have been faster.
        $stream = @stream_socket_accept($this->listener, 0);
        if ($stream === false) {
            return;
        }
        $this->connections[(int) $stream] = Connection::accepted($stream);
        $this->busyAt = hrtime(true);
        $this->counts->add(['connections' => 1]);
        $this->counts->setBusy(true);
    }

    /** Answers the requests that are there whole. */
    private function serve(Connection $connection): void
    {
        try {
            while (($body = $connection->receive()) !== null) {
                $this->answer($connection, $body);
                $this->busyAt = hrtime(true);
            }
            return;
        } catch (Closed) {
            // It had no further request, or does not want the answer any more.
        } catch (BadFrame | TException) {
            $this->counts->add(['bad_frames' => 1]);
        }
        unset($this->connections[(int) $connection->stream]);
        $connection->close();
        $this->counts->setBusy($this->connections !== []);
    }

    private function answer(Connection $connection, string $body): void
    {
        $arrived = hrtime(true);
        $answer = $this->requests->answer(Frame::parse($body), $arrived);
        try {
            $connection->send($answer);
            $until = hrtime(true) + self::LONGEST_WRITE_NS;
            while (!$connection->isFlushed()) {
                if (hrtime(true) > $until) {
                    throw new Closed('the answer was not read in time');
                }
                $none = null;
                $write = [$connection->stream];
                @stream_select($none, $write, $none, 1);
                $connection->flush();
            }
        } finally {
            $this->requests->written(strlen($body) + 4, strlen($answer));
            if ($this->spans->areDue()) {
                $this->spans->flush();
            }
        }
    }
}
