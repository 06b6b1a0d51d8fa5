<?php

declare(strict_types=1);

namespace Movies\Chassis;

use Movies\Idl\Refused;

/** Target of a service's generated processor: the methods of every service, and its own by name, with stamps. */
final class Handler
{
    /** CLOCK_MONOTONIC, when the arguments were decoded and when the method returned. Units: ns. */
    public int $decoded = 0;
    public int $returned = 0;
    public Outcome $outcome = Outcome::Ok;

    public function __construct(
        private readonly object $own,
        private readonly Context $context,
        private readonly Counts $counts,
    ) {
    }

    public function ping(): int
    {
        return $this->timed(static fn (): int => hrtime(true));
    }

    /** @return array<string, int> */
    public function counters(): array
    {
        return $this->timed($this->counts->all(...));
    }

    public function drain(): void
    {
        // The parent ends all workers, this one after its answer.
        $this->timed(static fn (): bool => posix_kill(posix_getppid(), SIGTERM));
    }

    /** @param list<mixed> $arguments */
    public function __call(string $method, array $arguments): mixed
    {
        return $this->timed(fn (): mixed => $this->own->$method(...$arguments));
    }

    private function timed(callable $method): mixed
    {
        $this->decoded = hrtime(true);
        $this->outcome = Outcome::Failed;
        try {
            $this->context->check('the request came too late');
            $result = $method();
            $this->outcome = Outcome::Ok;
            return $result;
        } catch (Refused $refused) {
            $this->outcome = Outcome::Refused;
            throw $refused;
        } catch (Failure $failure) {
            $this->outcome = $failure->outcome;
            throw $failure;
        } finally {
            $this->returned = hrtime(true);
        }
    }
}
