<?php

declare(strict_types=1);

namespace Social;

/** A request of a browser. It returns only strings in valid UTF-8; anything else counts as absent. */
final class Request
{
    /**
     * @param array<mixed> $query
     * @param array<mixed> $form
     * @param array<mixed> $cookies
     * @param array<mixed> $server
     * @param array<mixed> $files
     */
    public function __construct(
        public readonly string $method,
        public readonly string $path,
        private readonly array $query = [],
        private readonly array $form = [],
        private readonly array $cookies = [],
        private readonly array $server = [],
        private readonly array $files = [],
    ) {
    }

    public static function fromGlobals(): self
    {
        $path = strtok((string) ($_SERVER['REQUEST_URI'] ?? '/'), '?');
        return new self((string) $_SERVER['REQUEST_METHOD'], $path, $_GET, $_POST, $_COOKIE, $_SERVER, $_FILES);
    }

    /** Whether a script asks, which wants JSON and no pages. */
    public function isAjax(): bool
    {
        return str_starts_with($this->path, '/ajax/');
    }

    public function isEncrypted(): bool
    {
        return ($this->server['HTTPS'] ?? '') === 'on';
    }

    public function query(string $name): string
    {
        return self::text($this->query[$name] ?? null);
    }

    public function form(string $name): string
    {
        return self::text($this->form[$name] ?? null);
    }

    public function cookie(string $name): string
    {
        return self::text($this->cookies[$name] ?? null);
    }

    /** A header, by its name in capitals with underscores: `X_CSRF`. */
    public function header(string $name): string
    {
        return self::text($this->server["HTTP_$name"] ?? null);
    }

    /** The number of the newest entry that the browser has; 0 if none. */
    public function since(): int
    {
        $given = $this->query('since');
        if (preg_match('/^[0-9]{1,18}$/D', $given) !== 1) {
            throw Problem::invalid('`since` is the number of the newest that you have, or 0.');
        }
        return (int) $given;
    }

    /**
     * A text written by a user.
     *
     * Errors: it is empty, or longer than `$most` characters.
     */
    public function written(string $name, int $most): string
    {
        // Line ends as browsers send them are two characters.
        $text = trim(str_replace("\r\n", "\n", $this->form($name)));
        if ($text === '') {
            throw Problem::invalid('Please write something.');
        }
        if (mb_strlen($text) > $most) {
            throw Problem::invalid("That is too long: at most $most characters, please.");
        }
        return $text;
    }

    /**
     * The content of an uploaded file; null if none was chosen.
     *
     * Errors: the upload failed, or has more than `$most` bytes.
     */
    public function file(string $name, int $most): ?string
    {
        $file = $this->files[$name] ?? null;
        $error = $file['error'] ?? UPLOAD_ERR_NO_FILE;
        if ($error === UPLOAD_ERR_NO_FILE) {
            return null;
        }
        $tooLarge = $error === UPLOAD_ERR_INI_SIZE || (is_int($file['size']) && $file['size'] > $most);
        if ($tooLarge) {
            throw new Problem(413, 'That file is too large: at most ' . intdiv($most, 1 << 20) . ' MB, please.');
        }
        if ($error !== UPLOAD_ERR_OK || !is_uploaded_file($file['tmp_name'])) {
            throw Problem::invalid('The file did not arrive. Please try again.');
        }
        return (string) file_get_contents($file['tmp_name']);
    }

    private static function text(mixed $given): string
    {
        return is_string($given) && mb_check_encoding($given, 'UTF-8') ? $given : '';
    }
}
