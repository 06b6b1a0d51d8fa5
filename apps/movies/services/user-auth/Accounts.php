<?php

declare(strict_types=1);

namespace Movies\UserAuth;

use Movies\Chassis\{Store, Token};
use Movies\Idl\{Balance, Charge, Code, Refused};

/** The methods of the service: a token's user, and the user's payments. */
final class Accounts
{
    /** A key is part of an id in the database. Units: bytes. */
    private const KEY = 64;
    /** No film costs more. Units: cents. */
    private const MOST = 1_000_000;
    /** Of a balance: far below what a number of JavaScript holds exactly. Units: cents. */
    private const FULL = 1_000_000_000_000;

    public function __construct(private readonly Store $store, private readonly string $secret)
    {
    }

    public function check(?string $token): int
    {
        return $this->with($token, static fn (Store $store, int $user): int => $user);
    }

    /**
     * Does `$work` for the user of a token that was not ended, in a transaction.
     *
     * @template T
     * @param callable(Store, int): T $work
     * @return T
     */
    private function with(?string $token, callable $work): mixed
    {
        $user = Token::user((string) $token, $this->secret, time());
        $id = Token::id((string) $token);
        return $this->store->update((string) $user, static function (Store $store) use ($user, $id, $work): mixed {
            if ($store->get('ended', $id) !== null) {
                throw self::refused(Code::UNAUTHORIZED, 'the token was ended by a log-out; log in again');
            }
            return $work($store, $user);
        });
    }

    public function balance(?string $token): Balance
    {
        return $this->with($token, static function (Store $store, int $user): Balance {
            $account = $store->get('users', (string) $user) ?? throw self::none($user);
            return new Balance(['user' => $user, 'balance_cents' => $account['balance_cents']]);
        });
    }

    /** Takes the money once for each key of a user: the primary key of `charges` has both. */
    public function charge(?string $token, ?int $cents, ?string $key): Charge
    {
        Token::user((string) $token, $this->secret, time());
        self::checkKey((string) $key);
        if ($cents === null || $cents < 0 || $cents > self::MOST) {
            throw self::refused(Code::BAD_REQUEST, "$cents cents cannot be charged, but 0 to " . self::MOST);
        }
        return $this->with($token, static fn (Store $store, int $user): Charge => self::take($store, $user, $cents, $key));
    }

    /** Adds money, as a charge below zero. */
    public function deposit(?string $token, ?int $cents, ?string $key): Charge
    {
        Token::user((string) $token, $this->secret, time());
        self::checkKey((string) $key);
        if ($cents === null || $cents < 1 || $cents > self::MOST) {
            throw self::refused(Code::BAD_REQUEST, "$cents cents cannot be added, but 1 to " . self::MOST);
        }
        return $this->with($token, static fn (Store $store, int $user): Charge => self::take($store, $user, -$cents, "+$key"));
    }

    private static function checkKey(string $key): void
    {
        $size = strlen($key);
        if ($size < 1 || $size > self::KEY || preg_match('//u', $key) !== 1 || str_contains($key, "\0")) {
            throw self::refused(Code::BAD_REQUEST, "a key has $size bytes, and takes 1 to " . self::KEY . ' of UTF-8');
        }
    }

    private static function take(Store $store, int $user, int $cents, string $key): Charge
    {
        // The lock on the user serializes that user's charges, so the values read below stay valid.
        $account = $store->lock('users', (string) $user)
            ?? throw self::none($user);
        $before = $store->get('charges', "$user:$key");
        if ($before !== null) {
            if ($before['cents'] !== $cents) {
                $what = "the key was charged with {$before['cents']} cents before, and not with $cents";
                throw self::refused(Code::CONFLICT, $what);
            }
            return new Charge(['user' => $user, 'balance_cents' => $before['balance_cents'], 'repeated' => true]);
        }
        $balance = $account['balance_cents'] - $cents;
        if ($balance < 0) {
            throw self::refused(Code::PAYMENT_REQUIRED, "the balance is {$account['balance_cents']} cents, and not $cents");
        }
        if ($balance > self::FULL) {
            throw self::refused(Code::CONFLICT, "the balance would be $balance cents; the limit is " . self::FULL);
        }
        $store->insert('charges', "$user:$key", ['cents' => $cents, 'balance_cents' => $balance]);
        $store->set('users', (string) $user, ['balance_cents' => $balance]);
        return new Charge(['user' => $user, 'balance_cents' => $balance, 'repeated' => false]);
    }

    private static function none(int $user): Refused
    {
        return self::refused(Code::NOT_FOUND, "user $user does not exist");
    }

    private static function refused(int $code, string $what): Refused
    {
        return new Refused(['code' => $code, 'what' => $what]);
    }
}
