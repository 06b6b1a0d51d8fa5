<?php

declare(strict_types=1);

namespace Movies\Chassis;

use Movies\Idl\Code;
use Movies\Idl\Refused;

/** Proof of a login: `USER.EXPIRY.NONCE.HMAC`, which any service that has the secret checks by itself. */
final class Token
{
    /** Errors: `Refused` if it is invalid or has expired. */
    public static function user(string $token, string $secret, int $now): int
    {
        if (preg_match('/^(([1-9][0-9]{0,18})\.([1-9][0-9]{0,18})\.[0-9a-f]{16})\.([0-9a-f]{64})$/D', $token, $found) !== 1
            || !hash_equals(hash_hmac('sha256', $found[1], $secret), $found[4])) {
            throw self::refused('this is not a token that was given out here');
        }
        // 19 digits may be more than an integer has, which PHP would cut to the greatest.
        if ((string) (int) $found[2] !== $found[2] || (string) (int) $found[3] !== $found[3] || (int) $found[3] <= $now) {
            throw self::refused('the token has expired; log in again');
        }
        return (int) $found[2];
    }

    /** The key of a token that `user` takes among those that were ended. */
    public static function id(string $token): string
    {
        return str_replace('.', '#', substr($token, 0, (int) strrpos($token, '.')));
    }

    private static function refused(string $what): Refused
    {
        return new Refused(['code' => Code::UNAUTHORIZED, 'what' => $what]);
    }
}
