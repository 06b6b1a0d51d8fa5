<?php

declare(strict_types=1);

namespace Movies\Php;

use Movies\Chassis\Failure;
use Movies\Chassis\Outcome;
use Movies\Idl\Code;
use Movies\Idl\Refused;

/** Error of a request: a status of HTTP, its name, and a sentence. */
final class Problem extends \RuntimeException
{
    /** After too many wrong passwords. Source: the service user. Units: s. */
    private const LONGEST_WAIT = '60';

    /** @param array<string, string> $headers further headers of the answer */
    public function __construct(
        public readonly int $status,
        public readonly string $name,
        string $what,
        public readonly Outcome $outcome = Outcome::Refused,
        public readonly array $headers = [],
    ) {
        parent::__construct($what);
    }

    public static function badRequest(string $what): self
    {
        return new self(Code::BAD_REQUEST, 'BAD_REQUEST', $what);
    }

    public static function of(\Throwable $error): self
    {
        return match (true) {
            $error instanceof self => $error,
            $error instanceof Refused => self::refused($error),
            $error instanceof Failure && $error->outcome === Outcome::Deadline
                => new self(504, 'DEADLINE', $error->getMessage(), Outcome::Deadline),
            $error instanceof Failure => new self(503, $error->isOverload() ? 'OVERLOADED' : 'UNAVAILABLE',
                $error->getMessage(), Outcome::Failed, ['Retry-After' => '1']),
            default => new self(500, 'INTERNAL', 'something went wrong here, and is in the log', Outcome::Failed),
        };
    }

    private static function refused(Refused $refused): self
    {
        $name = Code::$__names[$refused->code] ?? null;
        if ($name === null || $refused->code === Code::UNAVAILABLE) {
            return new self(503, 'UNAVAILABLE', (string) $refused->what, Outcome::Failed, ['Retry-After' => '1']);
        }
        $headers = $refused->code === Code::TOO_MANY ? ['Retry-After' => self::LONGEST_WAIT] : [];
        return new self($refused->code, $name, (string) $refused->what, Outcome::Refused, $headers);
    }
}
