<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** Why a request was not served. Its message begins with the word that callers in every language know it by. */
final class Failure extends \RuntimeException
{
    private const OVERLOADED = 'overloaded: ';

    private function __construct(public readonly Outcome $outcome, string $message, ?\Throwable $previous)
    {
        parent::__construct($message, 0, $previous);
    }

    /** The request's time is used up. */
    public static function deadline(string $what): self
    {
        return new self(Outcome::Deadline, "deadline: $what", null);
    }

    /** A service or store that it needs did not answer. */
    public static function unavailable(string $name, string $why, ?\Throwable $previous = null): self
    {
        return new self(Outcome::Failed, "unavailable: $name: $why", $previous);
    }

    /** A failure that another service reported, of itself or of a callee. */
    public static function told(string $name, string $message): self
    {
        return match (true) {
            str_starts_with($message, 'deadline: ') => new self(Outcome::Deadline, $message, null),
            // The prefix tells the caller that a later try may succeed.
            str_starts_with($message, self::OVERLOADED)
                => new self(Outcome::Failed, self::OVERLOADED . "$name: " . substr($message, strlen(self::OVERLOADED)), null),
            str_starts_with($message, 'unavailable: ') => new self(Outcome::Failed, $message, null),
            default => self::unavailable($name, $message),
        };
    }

    public function isOverload(): bool
    {
        return str_starts_with($this->getMessage(), self::OVERLOADED);
    }
}
