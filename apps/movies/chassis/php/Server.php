<?php

declare(strict_types=1);

namespace Movies\Chassis;

use Thrift\Exception\TApplicationException;
use Thrift\Exception\TException;
use Thrift\Type\TMessageType;

/**
 * Listens, and keeps one worker for each of the service's threads, a process that serves one request at a time. Further
 * connections wait in the kernel; this process serves none, and refuses those beyond the queue.
 */
final class Server
{
    /** How long requests under way may take at the end. Units: ns. */
    private const DRAIN_NS = 2_000_000_000;
    /** How often workers and waiting connections are looked after. Units: µs. */
    private const TICK_US = 50_000;
    /** How long the server waits for the request of a connection that it will refuse. Units: µs. */
    private const REFUSE_US = 100_000;
    /** Connections that the kernel holds beyond the queue until they are refused. */
    private const SPARE = 128;

    /** @var array<int, int> the place of each worker, by process id */
    private array $workers = [];
    private bool $isDraining = false;
    private readonly SlotCounts $counts;

    /**
     * @param callable(SlotCounts): array{Requests, Spans} $make makes a worker's objects, in its process
     * @param list<string> $edges counters in addition to those that every service has
     */
    public function __construct(private readonly Config $config, private readonly mixed $make, array $edges)
    {
        $names = Counts::NAMES;
        foreach ($edges as $edge) {
            array_push($names, "edge.$edge.calls", "edge.$edge.errors", "edge.$edge.ns");
        }
        // The last row is this process's own.
        $this->counts = new SlotCounts($names, $config->threads + 1);
        $this->counts->own($config->threads);
    }

    /** Serves until a signal or `drain`; returns the exit code. */
    public function run(): int
    {
        $listener = $this->listen();
        pcntl_async_signals(true);
        foreach ([SIGTERM, SIGINT] as $signal) {
            pcntl_signal($signal, function (): void {
                $this->isDraining = true;
            });
        }
        // Workers read the end of it when this process is gone, however it went.
        [$parent, $kept] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        (new Spans($this->config, $this->counts))->flush();
        for ($slot = 0; $slot < $this->config->threads; $slot++) {
            $this->fork($slot, $listener, $parent, $kept);
        }
        echo "ready {$this->config->service} {$this->config->listen}\n";
        while (!$this->isDraining) {
            usleep(self::TICK_US);
            while (($ended = pcntl_waitpid(-1, $status, WNOHANG)) > 0) {
                $slot = $this->workers[$ended];
                unset($this->workers[$ended]);
                Log::error('a worker ended and is started again', ['pid' => $ended, 'status' => $status]);
                $this->fork($slot, $listener, $parent, $kept);
            }
            if (!$this->counts->hasFree()) {
                $this->shed($listener);
            }
        }
        fclose($listener);
        // Idle workers read its end; busy ones check the signal before they take another request.
        fclose($kept);
        $this->drain();
        return 0;
    }

    /** @return resource */
    private function listen(): mixed
    {
        $context = stream_context_create(['socket' => [
            'backlog' => $this->config->queue + self::SPARE,
            'tcp_nodelay' => true,
        ]]);
        $flags = STREAM_SERVER_BIND | STREAM_SERVER_LISTEN;
        $listener = @stream_socket_server("tcp://{$this->config->listen}", $code, $why, $flags, $context);
        if ($listener === false) {
            throw new \RuntimeException("cannot listen on {$this->config->listen}: $why");
        }
        // One connection may wake several workers; late ones must not wait for the next.
        stream_set_blocking($listener, false);
        return $listener;
    }

    /**
     * @param resource $listener
     * @param resource $parent
     * @param resource $kept
     */
    private function fork(int $slot, mixed $listener, mixed $parent, mixed $kept): void
    {
        $pid = pcntl_fork();
        if ($pid === -1) {
            throw new \RuntimeException('cannot fork a worker: ' . pcntl_strerror(pcntl_get_last_error()));
        }
        if ($pid > 0) {
            $this->workers[$pid] = $slot;
            return;
        }
        fclose($kept);
        pcntl_signal(SIGINT, SIG_IGN);
        $this->counts->own($slot);
        [$requests, $spans] = ($this->make)($this->counts);
        (new Worker($listener, $parent, $this->counts, $spans, $requests))->run();
        exit(0);
    }

    /**
     * Refuses waiting connections in excess of the queue.
     *
     * @param resource $listener
     */
    private function shed(mixed $listener): void
    {
        $tooMany = Backlog::waiting($this->config->listen) - $this->config->queue;
        for (; $tooMany > 0; $tooMany--) {
            $stream = @stream_socket_accept($listener, 0);
            if ($stream === false) {
                return;
            }
            $this->counts->add(['connections' => 1, 'overloaded' => 1]);
            $this->refuse(Connection::accepted($stream));
        }
    }

    private function refuse(Connection $connection): void
    {
        try {
            $body = $connection->receive();
            if ($body === null) {
                $read = [$connection->stream];
                $none = null;
                @stream_select($read, $none, $none, 0, self::REFUSE_US);
                $body = $connection->receive();
            }
            if ($body !== null) {
                $connection->send($this->refusal(Frame::parse($body)));
            }
        } catch (Closed | BadFrame | TException) {
            // It is closed all the same.
        }
        $connection->close();
    }

    private function refusal(Frame $frame): string
    {
        $in = new Protocol(new Buffer($frame->body, $frame->at));
        $in->readMessageBegin($method, $type, $sequence);
        $out = new Protocol($buffer = new Buffer());
        $out->writeMessageBegin($method, TMessageType::EXCEPTION, $sequence);
        $what = "overloaded: {$this->config->queue} connections wait already";
        (new TApplicationException($what, TApplicationException::INTERNAL_ERROR))->write($out);
        $message = $buffer->take();
        return $frame->isPlain ? Frame::plain($message) : Frame::header($frame->sequence, ['s' => '0,0,0'], $message);
    }

    private function drain(): void
    {
        foreach (array_keys($this->workers) as $pid) {
            posix_kill($pid, SIGTERM);
        }
        $end = hrtime(true) + self::DRAIN_NS;
        while ($this->workers !== [] && hrtime(true) < $end) {
            $ended = pcntl_waitpid(-1, $status, WNOHANG);
            if ($ended > 0) {
                unset($this->workers[$ended]);
            } else {
                usleep(1000);
            }
        }
        foreach (array_keys($this->workers) as $pid) {
            Log::error('a worker did not end in time and is killed', ['pid' => $pid]);
            posix_kill($pid, SIGKILL);
        }
    }
}
