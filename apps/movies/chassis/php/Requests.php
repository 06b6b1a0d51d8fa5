<?php

declare(strict_types=1);

namespace Movies\Chassis;

use Thrift\Exception\TApplicationException;
use Thrift\Type\TMessageType;

/** From the frame of a request to the frame of its answer, with counters and spans. */
final class Requests
{
    /** The chassis' own methods, which are not traced. */
    private const CHASSIS = ['ping', 'counters', 'drain'];

    private readonly Buffer $in;
    private readonly Buffer $out;
    private readonly Protocol $input;
    private readonly Protocol $output;
    private readonly object $processor;

    private string $method = '';
    private Outcome $outcome = Outcome::Ok;
    /** @var array{int, int, int, int, int} a to e */
    private array $stamps = [0, 0, 0, 0, 0];
    private int $cpu = 0;

    /** @param class-string $processor the generated one */
    public function __construct(
        private readonly Config $config,
        private readonly Context $context,
        private readonly Counts $counts,
        private readonly Spans $spans,
        private readonly Handler $handler,
        string $processor,
    ) {
        $this->in = new Buffer();
        $this->out = new Buffer();
        $this->input = new Protocol($this->in);
        $this->output = new Protocol($this->out);
        $this->processor = new $processor($handler);
    }

    /**
     * Errors: `BadFrame` and Thrift's exceptions for a request that cannot be answered.
     *
     * @param int $arrived CLOCK_MONOTONIC in ns
     */
    public function answer(Frame $frame, int $arrived): string
    {
        $begun = hrtime(true);
        $cpu = self::cpu();
        $this->context->begin($frame->headers['traceparent'] ?? '', $frame->headers['d'] ?? null, $arrived);
        $sequence = $this->head($frame);
        $this->handler->decoded = $this->handler->returned = $begun;
        $error = $this->process();
        if ($error !== null) {
            $this->output->writeMessageBegin($this->method, TMessageType::EXCEPTION, $sequence);
            $error->write($this->output);
        }
        $message = $this->out->take();
        $this->stamps = [$arrived, $begun, $this->handler->decoded, $this->handler->returned, hrtime(true)];
        $this->cpu = self::cpu() - $cpu;
        // Before the answer goes out, so that the next request finds it counted.
        $this->counts->add(self::counted($this->stamps, $this->outcome, $this->cpu));
        if ($frame->isPlain) {
            return Frame::plain($message);
        }
        $times = [$begun - $arrived, $this->handler->returned - $this->handler->decoded, $this->cpu];
        return Frame::header($frame->sequence, ['s' => implode(',', $times)], $message);
    }

    /** To be told when the answer was written, or could not be. */
    public function written(int $in, int $out): void
    {
        if (!$this->context->isSampled) {
            return;
        }
        // Only the service's own methods have an index; the chassis' and unknown ones do not.
        $place = Registry::method($this->config->service, $this->method);
        if ($place >= 0) {
            $this->spans->add($this->context, Spans::SERVER, 0, $place, $this->outcome, $this->context->span,
                $this->context->parent, [...$this->stamps, hrtime(true)], $this->cpu, $in, $out);
        }
    }

    /** CPU time of this process, which has one thread. Units: ns. */
    public static function cpu(): int
    {
        $used = getrusage();
        return ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) * 1_000_000_000
            + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) * 1000;
    }

    /**
     * Increments of the counters for one request.
     *
     * @param array{int, int, int, int, int} $stamps a to e
     * @return array<string, int>
     */
    public static function counted(array $stamps, Outcome $outcome, int $cpu): array
    {
        [$arrived, $begun, $decoded, $returned] = $stamps;
        return [
            'requests' => 1,
            'errors' => (int) ($outcome === Outcome::Failed),
            'refused' => (int) ($outcome === Outcome::Refused),
            'deadline' => (int) ($outcome === Outcome::Deadline),
            'queue_ns' => $begun - $arrived,
            'application_ns' => $returned - $decoded,
            'cpu_ns' => $cpu,
        ];
    }

    /** Reads the method, and rewinds the message; returns its sequence id. */
    private function head(Frame $frame): int
    {
        $this->out->take();
        $this->in->set($frame->body, $frame->at);
        $this->input->readMessageBegin($this->method, $type, $sequence);
        if ($type !== TMessageType::CALL) {
            throw new BadFrame("a message of kind $type is no call");
        }
        $this->in->set($frame->body, $frame->at);
        return $sequence;
    }

    /** Writes the answer, or returns the exception to send instead. */
    private function process(): ?TApplicationException
    {
        $this->outcome = Outcome::Failed;
        $service = $this->config->service;
        if (Registry::method($service, $this->method) < 0 && !in_array($this->method, self::CHASSIS, true)) {
            return new TApplicationException("$service has no such method", TApplicationException::UNKNOWN_METHOD);
        }
        try {
            $this->processor->process($this->input, $this->output);
            $this->outcome = $this->handler->outcome;
            return null;
        } catch (Failure $failure) {
            $this->outcome = $failure->outcome;
            if ($failure->outcome === Outcome::Failed) {
                Log::error($failure->getMessage(), ['method' => $this->method]);
            }
            return new TApplicationException($failure->getMessage(), TApplicationException::INTERNAL_ERROR);
        } catch (\Thrift\Exception\TException $bad) {
            throw $bad;
        } catch (\Throwable $error) {
            Log::error($error->getMessage(), ['method' => $this->method, 'at' => basename($error->getFile()) . ':' . $error->getLine()]);
            return new TApplicationException("unavailable: $service: internal error", TApplicationException::INTERNAL_ERROR);
        }
    }
}
