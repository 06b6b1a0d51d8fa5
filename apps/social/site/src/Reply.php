<?php

declare(strict_types=1);

namespace Social;

/** An answer to the browser. */
final class Reply
{
    /** Headers of each answer, so that a browser runs only the site's own scripts. */
    private const SAFETY = [
        'Content-Security-Policy' =>
            "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
        'X-Content-Type-Options' => 'nosniff',
        'X-Frame-Options' => 'DENY',
        'Referrer-Policy' => 'same-origin',
        'Cross-Origin-Resource-Policy' => 'same-origin',
    ];

    /** @param array<string, string> $headers */
    private function __construct(
        public readonly int $status,
        public readonly string $body,
        private array $headers,
    ) {
    }

    public static function page(string $html, int $status = 200): self
    {
        return new self($status, $html, ['Content-Type' => 'text/html; charset=utf-8', 'Cache-Control' => 'no-store']);
    }

    /** @param array<string, mixed> $data */
    public static function json(array $data, int $status = 200): self
    {
        $text = json_encode($data, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
        return new self($status, $text, ['Content-Type' => 'application/json', 'Cache-Control' => 'no-store']);
    }

    public static function text(string $text, int $status = 200): self
    {
        return new self($status, $text, ['Content-Type' => 'text/plain; charset=utf-8', 'Cache-Control' => 'no-store']);
    }

    /** A picture, whose address changes with its content. */
    public static function image(string $jpeg): self
    {
        return new self(200, $jpeg, ['Content-Type' => 'image/jpeg', 'Cache-Control' => 'private, max-age=86400']);
    }

    /** To another page of this site, which is then asked for by GET. */
    public static function redirect(string $path): self
    {
        // `//host` and `/\host` lead elsewhere.
        if (preg_match('#^/(?![/\\\\])[!-~]*$#D', $path) !== 1) {
            throw new \LogicException("not a path of this site: $path");
        }
        return new self(303, '', ['Location' => $path, 'Cache-Control' => 'no-store']);
    }

    public function header(string $name, string $value): self
    {
        $this->headers[$name] = $value;
        return $this;
    }

    public function send(): void
    {
        http_response_code($this->status);
        foreach ($this->headers + self::SAFETY as $name => $value) {
            header("$name: $value");
        }
        header('Content-Length: ' . strlen($this->body));
        echo $this->body;
    }
}
