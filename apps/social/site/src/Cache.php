<?php

declare(strict_types=1);

namespace Social;

use Memcached;

/**
 * Objects in a cache that speaks memcached's protocol: memcached or Sphinx. It may be absent or fail at any time; the
 * database holds all of its content, so a failure is logged and counts as a miss.
 *
 * Three ways of writing keep it correct despite concurrent writers. Values that never change are filled by `add`. A
 * changed value is replaced by a mark, so that a reader of the old value cannot add it after the change. The number of the
 * newest post or message of a user is only ever raised.
 */
final class Cache
{
    /** Value that marks a changed entry. */
    private const CHANGED = '-';
    /** Seconds for which it stays: longer than any reader takes, whose read of the database ends after 5 s. */
    private const CHANGED_FOR = 10;
    /** Attempts to raise a number while other requests raise it. */
    private const TRIES = 20;
    /** Keys of one request to the cache. */
    private const KEYS = 200;
    /** Longest waits for the cache, which normally answers within 1 ms. */
    private const WAIT_MS = 1000;

    public readonly Timing $timing;
    /** Set by the first failure: the rest of the request does not use the cache. */
    private bool $failed = false;
    private ?Memcached $client = null;

    /** @param array{kind: string, host?: string, port?: int} $config */
    public function __construct(private readonly array $config)
    {
        $this->timing = new Timing();
    }

    /** Whether this installation has a cache. */
    public function isThere(): bool
    {
        return $this->config['kind'] !== 'none';
    }

    /** Whether it did not answer in this request. */
    public function hasFailed(): bool
    {
        return $this->failed;
    }

    public function get(string $key): ?string
    {
        return $this->many([$key])[$key] ?? null;
    }

    /**
     * The cached values of these keys.
     *
     * @param list<string> $keys
     * @return array<string, string>
     */
    public function many(array $keys): array
    {
        $found = [];
        foreach (array_chunk($keys, self::KEYS) as $some) {
            $found += $this->ask(static fn (Memcached $client) => $client->getMulti($some)) ?: [];
        }
        return array_filter($found, static fn ($value): bool => is_string($value) && $value !== self::CHANGED);
    }

    /** Stores a value read from the database, unless the key exists. */
    public function add(string $key, string $value, int $seconds): void
    {
        $this->ask(static fn (Memcached $client) => $client->add($key, $value, $seconds));
    }

    public function set(string $key, string $value, int $seconds): bool
    {
        return $this->ask(static fn (Memcached $client) => $client->set($key, $value, $seconds)) === true;
    }

    public function delete(string $key): void
    {
        $this->ask(static fn (Memcached $client) => $client->delete($key));
    }

    /** Marks the key as changed; for some seconds it is then read from the database. */
    public function changed(string $key): void
    {
        if (!$this->set($key, self::CHANGED, self::CHANGED_FOR) && $this->isThere()) {
            error_log("cache: $key was not marked as changed; the old is there until it is no longer kept");
        }
    }

    /** Raises a number, unless it is as high already. */
    public function raise(string $key, int $number, int $seconds): void
    {
        for ($try = 0; $try < self::TRIES && $this->isThere() && !$this->failed; $try++) {
            $extended = Memcached::GET_EXTENDED;
            $there = $this->ask(static fn (Memcached $client) => $client->get($key, null, $extended));
            if ($there === false || $there === null) {
                $done = $this->ask(static fn (Memcached $client) => $client->add($key, (string) $number, $seconds));
            } elseif ((int) $there['value'] >= $number) {
                return;
            } else {
                $cas = $there['cas'];
                $done = $this->ask(static fn (Memcached $client) => $client->cas($cas, $key, (string) $number, $seconds));
            }
            if ($done === true) {
                return;
            }
        }
        if ($this->isThere()) {
            error_log("cache: $key was not raised to $number; it is read from the database again within $seconds s");
        }
    }

    /** @param callable(Memcached): mixed $call */
    private function ask(callable $call): mixed
    {
        if ($this->failed || !$this->isThere()) {
            return null;
        }
        return $this->timing->of(function () use ($call): mixed {
            $client = $this->client();
            $result = $call($client);
            $code = $client->getResultCode();
            $well = [Memcached::RES_SUCCESS, Memcached::RES_NOTFOUND, Memcached::RES_NOTSTORED, Memcached::RES_DATA_EXISTS];
            if (!in_array($code, $well, true)) {
                $this->failed = true;
                error_log("cache: {$this->config['host']}:{$this->config['port']}: {$client->getResultMessage()}");
                return null;
            }
            return $result;
        });
    }

    private function client(): Memcached
    {
        if ($this->client === null) {
            $client = new Memcached('social');
            // The connection outlives the request.
            if ($client->getServerList() === []) {
                $client->setOptions([
                    Memcached::OPT_BINARY_PROTOCOL => false,
                    Memcached::OPT_COMPRESSION => false,
                    Memcached::OPT_TCP_NODELAY => true,
                    Memcached::OPT_CONNECT_TIMEOUT => self::WAIT_MS,
                    Memcached::OPT_POLL_TIMEOUT => self::WAIT_MS,
                    Memcached::OPT_SEND_TIMEOUT => self::WAIT_MS * 1000,
                    Memcached::OPT_RECV_TIMEOUT => self::WAIT_MS * 1000,
                    Memcached::OPT_RETRY_TIMEOUT => 1,
                ]);
                $client->addServer($this->config['host'], $this->config['port']);
            }
            $this->client = $client;
        }
        return $this->client;
    }
}
