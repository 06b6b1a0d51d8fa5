<?php

declare(strict_types=1);

namespace Social;

/** A user as others see it. */
final class User
{
    /** Number of colours of placeholders for pictures. */
    private const COLOURS = 12;

    public function __construct(
        public readonly int $id,
        public readonly string $name,
        public readonly string $display,
        public readonly int $avatar,
    ) {
    }

    /** @param array<string, mixed> $row */
    public static function fromRow(array $row): self
    {
        return new self((int) $row['id'], $row['name'], $row['display'], (int) $row['avatar']);
    }

    /** As the cache keeps it. */
    public function packed(): string
    {
        return json_encode([$this->id, $this->name, $this->display, $this->avatar], JSON_THROW_ON_ERROR);
    }

    public static function unpacked(string $packed): self
    {
        return new self(...json_decode($packed, true, 4, JSON_THROW_ON_ERROR));
    }

    /** Placeholder for a picture. */
    public function initials(): string
    {
        $words = preg_split('/\s+/u', $this->display, -1, PREG_SPLIT_NO_EMPTY) ?: [$this->name];
        $first = mb_substr($words[0], 0, 1);
        return mb_strtoupper(count($words) > 1 ? $first . mb_substr(end($words), 0, 1) : $first);
    }

    /** The colour behind the initials, by the bytes of the name; `site.js` computes the same. */
    public function colour(): int
    {
        return array_sum(unpack('C*', $this->name)) % self::COLOURS;
    }
}
