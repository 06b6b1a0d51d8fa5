<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** Address of a database, from a URI of libpq: PDO takes words instead. */
final class StoreAddress
{
    private const URI = '#^postgres(?:ql)?://(?:([^:@/?]*)(?::([^@/?]*))?@)?(\[[^\]]*\]|[^:/?]*)(?::([0-9]*))?(?:/([^?]*))?(?:\?(.*))?$#D';

    /**
     * Detects a machine that is gone: libpq waits without limit, so the kernel must report missing acknowledgements of data and of
     * keep-alives each second. Meanings: libpq's; an address may set other values. Units: s, and ms of the last.
     */
    private const LOST = ['keepalives' => '1', 'keepalives_idle' => '1', 'keepalives_interval' => '1', 'keepalives_count' => '2',
        'tcp_user_timeout' => '2000'];

    /** @param array<string, string> $words */
    private function __construct(
        public readonly ?string $user,
        public readonly ?string $password,
        private readonly array $words,
    ) {
    }

    public static function parse(string $address): self
    {
        if (preg_match(self::URI, $address, $found, PREG_UNMATCHED_AS_NULL) !== 1) {
            throw new \InvalidArgumentException("a store's address is no postgresql://USER@HOST:PORT/DATABASE");
        }
        [, $user, $password, $host, $port, $database, $more] = array_pad($found, 7, null);
        $words = ['host' => trim((string) $host, '[]'), 'port' => (string) $port, 'dbname' => (string) $database];
        foreach ($more === null ? [] : explode('&', $more) as $pair) {
            [$key, $value] = explode('=', $pair, 2) + [1 => ''];
            $words[$key] = $value;
        }
        $words = array_map(rawurldecode(...), array_filter($words, static fn (string $word): bool => $word !== ''));
        foreach ($words as $key => $value) {
            if (preg_match('/^[a-z_]+$/D', $key) !== 1 || str_contains($value, ';')) {
                throw new \InvalidArgumentException("a store's address has a $key that PDO cannot be told");
            }
        }
        $plain = static fn (?string $text): ?string => $text === null || $text === '' ? null : rawurldecode($text);
        return new self($plain($user), $plain($password), $words);
    }

    public function dsn(): string
    {
        $quoted = [];
        foreach ($this->words + self::LOST as $key => $value) {
            $quoted[] = "$key='" . addcslashes($value, "'\\") . "'";
        }
        return 'pgsql:' . implode(';', $quoted);
    }
}
