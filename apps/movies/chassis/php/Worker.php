<?php

declare(strict_types=1);

namespace Movies\Chassis;

use Thrift\Exception\TException;

/** A process that serves one connection after the other, and the requests of each in order. */
final class Worker
{
    /** How long spans wait at most. Units: µs. */
    private const FLUSH_US = 100_000;

    private bool $isDraining = false;

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
        while ($this->waitFor($this->listener)) {
            // Another worker may have been faster.
            $stream = @stream_socket_accept($this->listener, 0);
            if ($stream !== false) {
                $this->counts->add(['connections' => 1]);
                $this->counts->setBusy(true);
                $this->serve(Connection::accepted($stream));
                $this->counts->setBusy(false);
            }
        }
        $this->spans->flush();
    }

    private function serve(Connection $connection): void
    {
        try {
            while (($body = $this->next($connection)) !== null) {
                $this->answer($connection, $body);
            }
        } catch (Closed) {
            // It had no further request, or does not want the answer any more.
        } catch (BadFrame | TException) {
            $this->counts->add(['bad_frames' => 1]);
        }
        $connection->close();
    }

    /** The next request; null: this process is to end. */
    private function next(Connection $connection): ?string
    {
        while (!$this->isDraining) {
            $body = $connection->receive();
            if ($body !== null || !$this->waitFor($connection->stream)) {
                return $body;
            }
        }
        return null;
    }

    private function answer(Connection $connection, string $body): void
    {
        $arrived = hrtime(true);
        $answer = $this->requests->answer(Frame::parse($body), $arrived);
        try {
            $connection->send($answer);
            while (!$connection->isFlushed()) {
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

    /**
     * Waits until there is something to read; false: this process is to end.
     *
     * @param resource $stream
     */
    private function waitFor(mixed $stream): bool
    {
        while (!$this->isDraining) {
            $read = [$stream, $this->parent];
            $none = null;
            $isWaiting = $this->spans->areWaiting();
            $found = @stream_select($read, $none, $none, $isWaiting ? 0 : null, $isWaiting ? self::FLUSH_US : null);
            if ($found === 0) {
                $this->spans->flush();
            }
            if ($found > 0) {
                return !in_array($this->parent, $read, true);
            }
        }
        return false;
    }
}
