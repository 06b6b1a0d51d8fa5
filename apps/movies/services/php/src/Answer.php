<?php

declare(strict_types=1);

namespace Movies\Php;

/** An answer: a value that is sent as JSON, and headers. */
final class Answer
{
    /** No browser runs or shows an answer as a page. */
    private const SAFETY = [
        'Content-Type' => 'application/json',
        'Cache-Control' => 'no-store',
        'X-Content-Type-Options' => 'nosniff',
        'Content-Security-Policy' => "default-src 'none'; frame-ancestors 'none'",
    ];

    /**
     * @param list<string> $degraded the parts that could not be had, by the service's name
     * @param array<string, string> $headers
     */
    public function __construct(
        private readonly mixed $value,
        private readonly int $status = 200,
        private readonly array $degraded = [],
        private readonly array $headers = [],
    ) {
    }

    public static function problem(Problem $problem): self
    {
        $value = ['error' => ['code' => $problem->name, 'what' => $problem->getMessage()]];
        return new self($value, $problem->status, [], $problem->headers);
    }

    /** With the token in the cookie, which no script can read. */
    public static function login(object $value, string $token, int $seconds): self
    {
        return new self($value, 200, [], ['Set-Cookie' => Request::COOKIE . "=$token; Path=/; Max-Age=$seconds; HttpOnly; SameSite=Strict"]);
    }

    public function encoded(): string
    {
        return json_encode($this->value, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
    }

    public function send(string $body, int $ns): void
    {
        http_response_code($this->status);
        foreach ($this->headers + self::SAFETY as $name => $value) {
            header("$name: $value");
        }
        if ($this->degraded !== []) {
            header('X-Degraded: ' . implode(',', $this->degraded));
        }
        header(sprintf('Server-Timing: app;dur=%.3f', $ns / 1e6));
        header('Content-Length: ' . strlen($body));
        echo $body;
    }
}
