<?php

declare(strict_types=1);

namespace Social;

/**
 * Pictures of users. An uploaded file is never shown itself: it is decoded, cut to a square and encoded again, which removes
 * any other content.
 */
final class Avatar
{
    /** Bytes of a file that is taken. */
    public const MOST = 1 << 20;
    /** Side of a shown picture. Units: pixels. */
    private const SIDE = 256;
    /** Pixels of a picture that is decoded, at 4 bytes each: a file of some KB can claim to be larger than the memory. */
    private const PIXELS = 12_000_000;
    /** Quality of JPEG: the first at which a face of this size shows no blocks. */
    private const QUALITY = 85;

    /**
     * A JPEG of the middle of a picture.
     *
     * Errors: it is not a JPEG, PNG, WebP or GIF, or too large.
     */
    public static function encoded(string $file): string
    {
        $known = [IMAGETYPE_JPEG, IMAGETYPE_PNG, IMAGETYPE_WEBP, IMAGETYPE_GIF];
        $size = @getimagesizefromstring($file);
        if ($size === false || !in_array($size[2], $known, true)) {
            throw Problem::invalid('A picture is a JPEG, PNG, WebP or GIF.');
        }
        [$width, $height] = $size;
        if ($width < 1 || $height < 1 || $width * $height > self::PIXELS) {
            throw Problem::invalid('That picture is too large: at most 12 million pixels, please.');
        }
        $from = @imagecreatefromstring($file);
        if ($from === false) {
            throw Problem::invalid('That picture is damaged.');
        }
        $side = min($width, $height);
        $to = imagecreatetruecolor(self::SIDE, self::SIDE);
        imagefill($to, 0, 0, (int) imagecolorallocate($to, 255, 255, 255));
        [$left, $top] = [intdiv($width - $side, 2), intdiv($height - $side, 2)];
        imagecopyresampled($to, $from, 0, 0, $left, $top, self::SIDE, self::SIDE, $side, $side);
        ob_start();
        imagejpeg($to, null, self::QUALITY);
        return (string) ob_get_clean();
    }
}
