<?php

declare(strict_types=1);

namespace Movies\Php;

use Movies\Chassis\Token;
use Movies\Idl\Code;
use Movies\Idl\Refused;

/** A request's parameters. Every returned value has its type and is within its limits. */
final class Request
{
    public const COOKIE = 'token';
    /** Source: the HTTP interface. Units: bytes. */
    private const BODY = 64 << 10;
    private const DEPTH = 8;
    /** A site of another origin cannot send this header without being allowed to. */
    private const OWN = 'movies';

    /** @var array<mixed>|null */
    private ?array $fields = null;

    /**
     * @param array<mixed> $query
     * @param array<mixed> $cookies
     * @param array<mixed> $server
     */
    public function __construct(
        public readonly string $method,
        public readonly string $path,
        private readonly array $query = [],
        private readonly array $cookies = [],
        private readonly array $server = [],
        public readonly string $body = '',
    ) {
    }

    public static function fromGlobals(): self
    {
        $method = (string) $_SERVER['REQUEST_METHOD'];
        $path = (string) strtok((string) ($_SERVER['REQUEST_URI'] ?? '/'), '?');
        // One byte more than there may be, by which too many are known.
        $body = $method === 'GET' ? '' : (string) file_get_contents('php://input', false, null, 0, self::BODY + 1);
        return new self($method, $path, $_GET, $_COOKIE, $_SERVER, $body);
    }

    /** A header, by its name in capitals with underscores: `X_REQUESTED_WITH`. */
    public function header(string $name): string
    {
        return self::text($this->server["HTTP_$name"] ?? null) ?? '';
    }

    public function queryText(string $name, int $most): string
    {
        return self::limited($name, self::text($this->query[$name] ?? '') ?? '', 0, $most);
    }

    public function queryNumber(string $name, int $default, int $least, int $most): int
    {
        $given = $this->query[$name] ?? null;
        return $given === null ? $default : self::number($name, $given, $least, $most);
    }

    /**
     * A list such as `1,2,3`; `$most` of them.
     *
     * @return list<int>
     */
    public function queryNumbers(string $name, int $most): array
    {
        $given = explode(',', self::text($this->query[$name] ?? '') ?? '');
        if (count($given) > $most) {
            throw Problem::badRequest("`$name` has " . count($given) . " numbers, and takes $most");
        }
        return array_map(static fn (string $one): int => self::number($name, $one, 1, PHP_INT_MAX), $given);
    }

    /** A text of the body. Units of its limits: bytes. */
    public function fieldText(string $name, int $least, int $most, int $code = Code::BAD_REQUEST): string
    {
        $given = $this->fields()[$name] ?? throw Problem::badRequest("the body has no `$name`");
        if (!is_string($given)) {
            throw Problem::badRequest("`$name` is no text");
        }
        return self::limited($name, $given, $least, $most, $code);
    }

    public function fieldNumber(string $name, int $least, int $most): int
    {
        $given = $this->fields()[$name] ?? throw Problem::badRequest("the body has no `$name`");
        if (!is_int($given) || $given < $least || $given > $most) {
            throw Problem::badRequest("`$name` takes a whole number from $least to $most");
        }
        return $given;
    }

    /**
     * The token from `Authorization: Bearer TOKEN`, or else from the cookie.
     *
     * Errors: it came in the cookie, which a browser also sends for other sites, with a request that changes data and
     * does not prove that it is from this site.
     */
    public function token(): string
    {
        $bearer = $this->bearer();
        if ($bearer !== null) {
            return $bearer;
        }
        $cookie = self::text($this->cookies[self::COOKIE] ?? null) ?? '';
        if ($cookie !== '' && $this->method !== 'GET' && $this->header('X_REQUESTED_WITH') !== self::OWN) {
            throw new Problem(Code::UNAUTHORIZED, 'UNAUTHORIZED',
                'a request with the cookie takes the header X-Requested-With: ' . self::OWN);
        }
        return $cookie;
    }

    /** The address that the request comes from. */
    public function source(): string
    {
        return self::text($this->server['REMOTE_ADDR'] ?? null) ?? '';
    }

    /**
     * Errors: a browser says that the request comes from a page of another site, which could log a visitor in as someone else. Programs
     * say nothing.
     */
    public function checkOrigin(): void
    {
        $from = $this->header('ORIGIN');
        $page = $from !== '' ? $from : $this->header('REFERER');
        $host = parse_url($page, PHP_URL_HOST);
        $port = parse_url($page, PHP_URL_PORT);
        $own = strtolower($this->header('HOST'));
        if ($page !== '' && (!is_string($host) || strtolower($host) . ($port ? ":$port" : '') !== $own)) {
            throw new Problem(403, 'FORBIDDEN', 'a login comes from a page of this site, and not from another one');
        }
    }

    /** The user whom a page is for; 0 for a visitor, and for one whose cookie has expired. */
    public function user(string $secret, int $now): int
    {
        $token = $this->token();
        if ($token === '') {
            return 0;
        }
        try {
            return Token::user($token, $secret, $now);
        } catch (Refused $refused) {
            return $this->bearer() === null ? 0 : throw $refused;
        }
    }

    /** The token of a user who must be there. */
    public function userToken(string $secret, int $now): string
    {
        $token = $this->token();
        if ($token === '') {
            throw new Problem(Code::UNAUTHORIZED, 'UNAUTHORIZED', 'this takes a token; log in first');
        }
        Token::user($token, $secret, $now);
        return $token;
    }

    private function bearer(): ?string
    {
        return preg_match('/^Bearer +([!-~]+)$/iD', $this->header('AUTHORIZATION'), $found) === 1 ? $found[1] : null;
    }

    /** @return array<mixed> */
    private function fields(): array
    {
        if ($this->fields === null) {
            if (strlen($this->body) > self::BODY) {
                throw Problem::badRequest('the body has more than ' . self::BODY . ' bytes');
            }
            $fields = json_decode($this->body, true, self::DEPTH);
            if (!is_array($fields) || ($fields !== [] && array_is_list($fields))) {
                throw Problem::badRequest('the body is no object of JSON: ' . (json_last_error() ? json_last_error_msg() : 'another value'));
            }
            $this->fields = $fields;
        }
        return $this->fields;
    }

    private static function limited(string $name, string $given, int $least, int $most, int $code = Code::BAD_REQUEST): string
    {
        $size = strlen($given);
        if ($size < $least || $size > $most) {
            $what = "`$name` has $size bytes, and takes $least to $most";
            throw $size > $most ? new Problem($code, Code::$__names[$code], $what) : Problem::badRequest($what);
        }
        return $given;
    }

    private static function number(string $name, mixed $given, int $least, int $most): int
    {
        // A number that an integer does not hold is not written back as it was.
        if (!is_string($given) || (string) (int) $given !== $given || (int) $given < $least || (int) $given > $most) {
            throw Problem::badRequest("`$name` takes a whole number from $least to $most");
        }
        return (int) $given;
    }

    private static function text(mixed $given): ?string
    {
        return is_string($given) && preg_match('//u', $given) === 1 ? $given : null;
    }
}
