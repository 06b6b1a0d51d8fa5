<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** How many connections wait to be accepted, which the kernel shows for each listening socket. Source: proc_net_tcp.rst. */
final class Backlog
{
    private const LISTENS = '0A';

    /** @param string $address that is listened on, with a numeric host */
    public static function waiting(string $address): int
    {
        $colon = strrpos($address, ':');
        $binary = @inet_pton(trim(substr($address, 0, $colon), '[]'));
        if ($binary === false) {
            return 0;
        }
        // Each 32 bits stand as a number of the machine's.
        $host = implode('', array_map(static fn (int $word): string => sprintf('%08X', $word),
            unpack(pack('S', 1) === "\1\0" ? 'V*' : 'N*', $binary)));
        $local = sprintf('%s:%04X', $host, (int) substr($address, $colon + 1));
        $file = strlen($binary) === 4 ? '/proc/net/tcp' : '/proc/net/tcp6';
        foreach (file($file, FILE_IGNORE_NEW_LINES) ?: [] as $line) {
            $fields = preg_split('/\s+/', trim($line));
            if (($fields[1] ?? '') === $local && $fields[3] === self::LISTENS) {
                return (int) hexdec(explode(':', $fields[4])[1]);
            }
        }
        return 0;
    }
}
