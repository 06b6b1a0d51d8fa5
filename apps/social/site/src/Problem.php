<?php

declare(strict_types=1);

namespace Social;

/** Error of a request: a status of HTTP and a sentence for its sender. */
final class Problem extends \RuntimeException
{
    /** @param array<string, string> $headers further headers of the answer */
    public function __construct(
        public readonly int $status,
        string $message,
        public readonly array $headers = [],
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, 0, $previous);
    }

    public static function notFound(string $what): self
    {
        return new self(404, "$what is not here.");
    }

    public static function invalid(string $why): self
    {
        return new self(422, $why);
    }

    public static function forbidden(string $why): self
    {
        return new self(403, $why);
    }

    /** The database or the cache does not answer. */
    public static function unavailable(\Throwable $why): self
    {
        return new self(503, 'The site cannot answer now. Please try again in a moment.', ['Retry-After' => '5'], $why);
    }
}
