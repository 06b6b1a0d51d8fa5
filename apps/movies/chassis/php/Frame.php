<?php

declare(strict_types=1);

namespace Movies\Chassis;

/**
 * One message on the wire: `u32 length` and either a header frame, which is a subset of THeader's (binary protocol, no
 * transforms, one kind of information), or the message itself:
 *
 *     0x0FFF u16 · flags 0 u16 · sequence u32 · words of the header u16 ·
 *     header: varint protocol 0 · varint transforms 0 · { varint 1 · varint pairs · pairs of { varint length · bytes } } · zeros ·
 *     message
 */
final class Frame
{
    /** Units: bytes, without the length field. */
    public const LIMIT = 16 << 20;
    private const MAGIC = 0x0fff;
    private const FIXED = 10;

    /** @param array<string, string> $headers */
    private function __construct(
        public readonly bool $isPlain,
        public readonly int $sequence,
        public readonly array $headers,
        /** All of it, in which the message begins at `$at`. */
        public readonly string $body,
        public readonly int $at,
    ) {
    }

    /** Errors: `BadFrame`. */
    public static function parse(string $body): self
    {
        $size = strlen($body);
        if ($size > 0 && $body[0] === "\x80") {
            return new self(true, 0, [], $body, 0);
        }
        if ($size < self::FIXED) {
            throw new BadFrame("a frame of $size bytes is neither a message nor a header");
        }
        ['magic' => $magic, 'flags' => $flags, 'sequence' => $sequence, 'words' => $words]
            = unpack('nmagic/nflags/Nsequence/nwords', $body);
        if ($magic !== self::MAGIC || $flags !== 0) {
            throw new BadFrame(sprintf('a frame begins with %04x %04x, and not with 0fff 0000', $magic, $flags));
        }
        $end = self::FIXED + 4 * $words;
        if ($end >= $size) {
            throw new BadFrame("a header of $words words leaves nothing of $size bytes for the message");
        }
        $at = self::FIXED;
        $protocol = self::varint($body, $at, $end);
        $transforms = self::varint($body, $at, $end);
        if ($protocol !== 0 || $transforms !== 0) {
            throw new BadFrame("protocol $protocol with $transforms transforms: only the binary protocol without is spoken here");
        }
        $headers = [];
        while ($at < $end) {
            $kind = self::varint($body, $at, $end);
            if ($kind === 0) {
                // Padding.
                break;
            }
            if ($kind !== 1) {
                throw new BadFrame("information of kind $kind in a header");
            }
            for ($left = self::varint($body, $at, $end); $left > 0; $left--) {
                $key = self::text($body, $at, $end);
                $headers[$key] = self::text($body, $at, $end);
            }
        }
        if ($body[$end] !== "\x80") {
            throw new BadFrame('the message behind the header is not of the strict binary protocol');
        }
        return new self(false, $sequence, $headers, $body, $end);
    }

    /**
     * A header frame around a message, with its length.
     *
     * @param array<string, string> $headers
     */
    public static function header(int $sequence, array $headers, string $message): string
    {
        $header = "\0\0";
        if ($headers !== []) {
            $header .= "\x01" . self::toVarint(count($headers));
            foreach ($headers as $key => $value) {
                $header .= self::toVarint(strlen($key)) . $key . self::toVarint(strlen($value)) . $value;
            }
        }
        $header .= str_repeat("\0", -strlen($header) & 3);
        $length = self::FIXED + strlen($header) + strlen($message);
        return pack('NnnNn', $length, self::MAGIC, 0, $sequence, strlen($header) >> 2) . $header . $message;
    }

    /** A message with its length, for callers without header frames. */
    public static function plain(string $message): string
    {
        return pack('N', strlen($message)) . $message;
    }

    private static function varint(string $body, int &$at, int $end): int
    {
        $value = 0;
        // A number of 32 bits takes at most 5 bytes.
        for ($shift = 0; $shift < 35; $shift += 7) {
            if ($at >= $end) {
                throw new BadFrame('the header ends within a number');
            }
            $byte = ord($body[$at++]);
            $value |= ($byte & 0x7f) << $shift;
            if ($byte < 0x80) {
                return $value;
            }
        }
        throw new BadFrame('a number in the header has more than 5 bytes');
    }

    private static function text(string $body, int &$at, int $end): string
    {
        $length = self::varint($body, $at, $end);
        if ($length > $end - $at) {
            throw new BadFrame("the header ends before a text of $length bytes");
        }
        $text = substr($body, $at, $length);
        $at += $length;
        return $text;
    }

    private static function toVarint(int $value): string
    {
        $bytes = '';
        while ($value >= 0x80) {
            $bytes .= chr($value & 0x7f | 0x80);
            $value >>= 7;
        }
        return $bytes . chr($value);
    }
}
