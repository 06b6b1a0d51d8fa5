<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** Configuration of a service: the only argument of its program is a file of `key=value` lines. */
final class Config
{
    private const NEEDED = ['service', 'id', 'instance', 'listen', 'threads', 'queue', 'spans', 'secret', 'data'];
    /** Of `upstream.NAME` and so on. */
    private const FAMILIES = '/^(?:upstream\.[a-z-]+|cache\.[a-z]+|store\.[a-z]+|call\.[a-z-]+\.deadline_ms)$/D';

    public readonly string $service;
    public readonly int $id;
    public readonly int $instance;
    public readonly string $listen;
    public readonly int $threads;
    public readonly int $queue;
    public readonly string $spans;
    public readonly string $secret;

    /** @param array<string, string> $values */
    private function __construct(private readonly string $file, private readonly array $values)
    {
        foreach (self::NEEDED as $key) {
            if (!isset($values[$key])) {
                throw new \InvalidArgumentException("$file: `$key` is missing");
            }
        }
        $this->service = $values['service'];
        $this->id = $this->number('id', 0, 0xffff);
        $this->instance = $this->number('instance', 0, 0xffff);
        $this->listen = self::address($file, 'listen', $values['listen']);
        $this->threads = $this->number('threads', 1, 1024);
        $this->queue = $this->number('queue', 1, 65535);
        $this->spans = $values['spans'];
        $this->secret = $values['secret'];
    }

    public static function read(string $file): self
    {
        $text = is_file($file) ? file_get_contents($file) : false;
        if ($text === false) {
            throw new \InvalidArgumentException("$file: cannot be read");
        }
        return self::parse($text, $file);
    }

    public static function parse(string $text, string $file): self
    {
        $values = $seen = [];
        foreach (explode("\n", $text) as $at => $line) {
            $line = trim($line);
            if ($line === '' || $line[0] === '#') {
                continue;
            }
            $parts = explode('=', $line, 2);
            $key = trim($parts[0]);
            $place = "$file:" . ($at + 1);
            if (!isset($parts[1])) {
                throw new \InvalidArgumentException("$place: `$line` is not key=value");
            }
            if (!in_array($key, self::NEEDED, true) && $key !== 'optional' && preg_match(self::FAMILIES, $key) !== 1) {
                throw new \InvalidArgumentException("$place: `$key` is not a key");
            }
            if (isset($seen[$key])) {
                throw new \InvalidArgumentException("$place: `$key` is there twice");
            }
            $seen[$key] = true;
            $value = trim($parts[1]);
            // An empty one that names a service or a domain is as if it were not there.
            if ($value !== '' || preg_match(self::FAMILIES, $key) !== 1) {
                $values[$key] = $value;
            }
        }
        return new self($file, $values);
    }

    /** The bytes of the secret of tokens. */
    public function secretBytes(): string
    {
        if (preg_match('/^[0-9a-f]{64}$/D', $this->secret) !== 1) {
            throw new \InvalidArgumentException("$this->file: `secret` takes 64 digits of base 16");
        }
        return hex2bin($this->secret);
    }

    /**
     * The replicas of a service that is called.
     *
     * @return non-empty-list<string>
     */
    public function upstream(string $name): array
    {
        $key = "upstream.$name";
        return array_map(fn (string $one): string => self::address($this->file, $key, $one), $this->some($key));
    }

    /**
     * The shards of a store: addresses of databases.
     *
     * @return non-empty-list<string>
     */
    public function store(string $domain): array
    {
        return $this->some("store.$domain");
    }

    public function isOptional(string $name): bool
    {
        return in_array($name, array_map(trim(...), explode(',', $this->values['optional'] ?? '')), true);
    }

    /** The limit of calls of this service; null for the request's remaining time. Units: ms. */
    public function limitOf(string $name): ?int
    {
        $key = "call.$name.deadline_ms";
        return isset($this->values[$key]) ? $this->number($key, 1, 600_000) : null;
    }

    /** @return non-empty-list<string> */
    private function some(string $key): array
    {
        $some = array_values(array_filter(array_map(trim(...), explode(',', $this->values[$key] ?? ''))));
        return $some ?: throw new \InvalidArgumentException("$this->file: `$key` is missing");
    }

    private function number(string $key, int $least, int $most): int
    {
        $given = $this->values[$key];
        if (preg_match('/^[0-9]{1,9}$/D', $given) !== 1 || (int) $given < $least || (int) $given > $most) {
            throw new \InvalidArgumentException("$this->file: `$key` is $given, and takes $least to $most");
        }
        return (int) $given;
    }

    private static function address(string $file, string $key, string $given): string
    {
        if (preg_match('/^(?:[0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})$/D', $given, $found) !== 1
            || (int) $found[1] < 1 || (int) $found[1] > 65535) {
            throw new \InvalidArgumentException("$file: `$key` has $given, and takes HOST:PORT");
        }
        return $given;
    }
}
