<?php

declare(strict_types=1);

namespace Movies\Chassis;

use Movies\Idl\Refused;
use Thrift\Exception\TApplicationException;

/** One call of another service, from its start to its result. */
final class Call
{
    /** The longest wait for a connection. Units: ns. */
    private const CONNECT_NS = 1_000_000_000;

    /** Deadline of the call, CLOCK_MONOTONIC. Units: ns. */
    public readonly int $end;
    private readonly string $edge;
    private readonly string $span;
    private readonly Buffer $buffer;
    private readonly Protocol $protocol;
    /** The generated client, which writes to and reads from the buffer. */
    private readonly object $client;
    private int $sequence = 0;
    private ?Connection $connection = null;
    private bool $isRetry = false;
    /** @var array{int, int, int, int, int, int} a to f */
    private array $stamps;
    private int $sent = 0;
    private int $received = 0;
    /** The callee's times, from the answer. */
    private string $times = '';
    private ?Outcome $outcome = null;
    private mixed $result = null;
    private Refused|Failure|null $error = null;
    /** Null for a service that is needed. */
    private readonly ?Breaker $breaker;
    private bool|string $admitted = true;

    /** @param list<mixed> $arguments */
    public function __construct(
        private readonly Caller $caller,
        private readonly string $callee,
        private readonly string $method,
        private readonly array $arguments,
    ) {
        $now = hrtime(true);
        $this->stamps = array_fill(0, 6, $now);
        $limit = $caller->config->limitOf($callee);
        $this->end = min($caller->context->end, $limit === null ? PHP_INT_MAX : $now + $limit * 1_000_000);
        $this->edge = "$callee.$method";
        $this->breaker = $caller->config->isOptional($callee) ? new Breaker($callee, $caller->counts) : null;
        $this->span = $caller->context->isSampled ? Context::newSpan() : $caller->context->span;
        $this->buffer = new Buffer();
        $this->protocol = new Protocol($this->buffer);
        $this->client = new (Registry::client($callee))($this->protocol, $this->protocol);
    }

    /** Sends the request. */
    public function begin(): void
    {
        $this->admitted = $this->breaker?->admits($this->stamps[0]) ?? true;
        if ($this->admitted === false) {
            $this->fail(Failure::unavailable($this->callee, 'it timed out repeatedly, and is not asked for a while'));
            return;
        }
        Budget::earn($this->edge);
        $this->send();
    }

    public function connection(): Connection
    {
        return $this->connection;
    }

    public function hasEnded(): bool
    {
        return $this->outcome !== null;
    }

    /**
     * Waits for the service's answer.
     *
     * Errors: `Refused`, `Failure`.
     */
    public function result(): mixed
    {
        $this->caller->finish();
        return $this->error === null ? $this->result : throw $this->error;
    }

    public function writable(): void
    {
        if ($this->hasEnded()) {
            return;
        }
        try {
            $this->connection->flush();
            $this->stamps[3] = hrtime(true);
        } catch (Closed $closed) {
            $this->lost($closed);
        }
    }

    public function readable(): void
    {
        if ($this->hasEnded()) {
            return;
        }
        if ($this->received === 0) {
            $this->stamps[4] = hrtime(true);
            $this->received = 1;
        }
        try {
            $body = $this->connection->receive();
            if ($body !== null) {
                $this->received = strlen($body) + 4;
                $this->decode(Frame::parse($body));
            }
        } catch (Closed $closed) {
            $this->lost($closed);
        } catch (BadFrame $bad) {
            $this->caller->counts->add(['bad_frames' => 1]);
            $this->fail(Failure::unavailable($this->callee, $bad->getMessage()));
        }
    }

    public function expire(int $now): void
    {
        if (!$this->hasEnded() && $now >= $this->end) {
            $this->fail(Failure::deadline("$this->callee did not answer in time"));
        }
    }

    private function send(): void
    {
        $left = $this->end - hrtime(true);
        if ($left <= 0) {
            $this->fail(Failure::deadline("nothing is left to call $this->callee"));
            return;
        }
        $replicas = $this->caller->config->upstream($this->callee);
        try {
            $address = $replicas[Budget::turn($this->callee, count($replicas))];
            $this->connection = Connection::persistent($address, min($left, self::CONNECT_NS));
            $this->stamps[1] = hrtime(true);
            $left = $this->end - $this->stamps[1];
            if ($left <= 0) {
                $this->fail(Failure::deadline("nothing is left to ask $this->callee once it is connected"));
                return;
            }
            // A new number for each request reveals a late answer to an earlier one on this connection.
            $this->sequence = $this->protocol->sequence = random_int(1, 0x7fffffff);
            $this->client->{"send_$this->method"}(...$this->arguments);
            $frame = Frame::header($this->sequence, $this->headers($left), $this->buffer->take());
            $this->sent = strlen($frame);
            $this->stamps[2] = hrtime(true);
            $this->connection->send($frame);
            $this->stamps[3] = hrtime(true);
        } catch (Closed $closed) {
            $this->lost($closed);
        }
    }

    /** @return array<string, string> */
    private function headers(int $left): array
    {
        $context = $this->caller->context;
        $headers = ['d' => (string) max(1, intdiv($left, 1_000_000))];
        if ($context->trace !== '') {
            $headers['traceparent'] = "00-$context->trace-$this->span-" . ($context->isSampled ? '01' : '00');
        }
        return $headers;
    }

    private function decode(Frame $frame): void
    {
        if ($frame->isPlain || $frame->sequence !== $this->sequence) {
            throw new Closed('the answer is that of another request');
        }
        $this->times = $frame->headers['s'] ?? '';
        $this->buffer->set($frame->body, $frame->at);
        try {
            $this->result = $this->client->{"recv_$this->method"}();
            $this->ended(Outcome::Ok);
        } catch (Refused $refused) {
            $this->error = $refused;
            $this->ended(Outcome::Refused);
        } catch (TApplicationException $said) {
            $this->error = Failure::told($this->callee, (string) $said->getMessage());
            $this->ended($this->error->outcome);
        } catch (\Exception $bad) {
            throw new BadFrame("the answer cannot be read: {$bad->getMessage()}");
        }
    }

    /** The connection is lost: repeats the call if that is safe and not too often. */
    private function lost(Closed $why): void
    {
        $this->connection?->close();
        $this->connection = null;
        if (hrtime(true) >= $this->end) {
            $this->fail(Failure::deadline("$this->callee did not answer in time"));
            return;
        }
        $isTimeOut = $why->getCode() === SOCKET_ETIMEDOUT;
        if (!$isTimeOut && !$this->isRetry && Registry::isIdempotent($this->method) && Budget::spend($this->edge)) {
            $this->isRetry = true;
            $this->received = 0;
            $this->caller->counts->add(['retries' => 1]);
            $this->send();
            return;
        }
        $this->fail(Failure::unavailable($this->callee, $why->getMessage(), $why));
    }

    private function fail(Failure $failure): void
    {
        $this->connection?->close();
        $this->connection = null;
        $this->error = $failure;
        $this->ended($failure->outcome);
    }

    private function ended(Outcome $outcome): void
    {
        $this->outcome = $outcome;
        $this->connection?->release();
        $this->stamps[5] = hrtime(true);
        $isSpent = $outcome === Outcome::Deadline;
        if ($this->admitted !== false && ($this->sent > 0 || !$isSpent)) {
            $this->breaker?->ended($isSpent, $this->admitted, $this->stamps[5]);
        }
        // Stages that were not reached take no time.
        for ($at = 1; $at < 6; $at++) {
            $this->stamps[$at] = max($this->stamps[$at], $this->stamps[$at - 1]);
        }
        $isError = $outcome === Outcome::Failed || $outcome === Outcome::Deadline;
        $this->caller->counts->add([
            "edge.$this->edge.calls" => 1,
            "edge.$this->edge.errors" => (int) $isError,
            "edge.$this->edge.ns" => $this->stamps[5] - $this->stamps[0],
            ...Histogram::ofCall($this->edge, $this->stamps[5] - $this->stamps[0], $this->times),
        ]);
        if ($this->caller->context->isSampled) {
            $this->caller->spans->add($this->caller->context, Spans::CLIENT, Registry::id($this->callee),
                Registry::method($this->callee, $this->method), $outcome, $this->span, $this->caller->context->span,
                $this->stamps, 0, $this->received, $this->sent, $this->isRetry ? Spans::RETRIED : 0);
        }
    }
}
