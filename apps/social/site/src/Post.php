<?php

declare(strict_types=1);

namespace Social;

/** A post, or a message of a chat, whose `wall` is then the user it was sent to. */
final class Post
{
    public function __construct(
        public readonly int $id,
        public readonly int $author,
        public readonly int $wall,
        public readonly string $body,
        /** Milliseconds since 1970. */
        public readonly int $at,
    ) {
    }

    /** @param array<string, mixed> $row */
    public static function fromRow(array $row): self
    {
        return new self((int) $row['id'], (int) $row['author'], (int) $row['wall'], $row['body'], (int) $row['at']);
    }

    /** @return array{int, int, int, string, int} arguments of `new Post(...)` */
    public function fields(): array
    {
        return [$this->id, $this->author, $this->wall, $this->body, $this->at];
    }

    /** When it was written, as ISO 8601 has it, in UTC. */
    public function time(): string
    {
        return gmdate('Y-m-d\TH:i:s\Z', intdiv($this->at, 1000));
    }

    /** How long ago that was, for people. */
    public function ago(): string
    {
        $seconds = max(0, time() - intdiv($this->at, 1000));
        return match (true) {
            $seconds < 60 => 'just now',
            $seconds < 3600 => intdiv($seconds, 60) . ' min',
            $seconds < 86_400 => intdiv($seconds, 3600) . ' h',
            $seconds < 7 * 86_400 => intdiv($seconds, 86_400) . ' d',
            default => gmdate('j M Y', intdiv($this->at, 1000)),
        };
    }
}
