<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** Numbers of services and places of methods from the registry (`app.toml`), as spans hold them. */
final class Registry
{
    /** By name: the number, the service of the interface, its methods. */
    private const SERVICES = [
        'php' => [3, '', ['page', 'review', 'rent', 'search', 'titles', 'login', 'sign-up', 'rentals', 'deposit', 'my-reviews', 'logout']],
        'compose-page' => [4, 'ComposePage', ['compose']],
        'rent-movie' => [14, 'RentMovie', ['rent', 'account', 'deposit']],
        'user-auth' => [15, 'UserAuth', ['check', 'charge', 'balance', 'deposit']],
        'unique-id' => [19, 'UniqueId', ['upload']],
        'movie-id' => [20, 'MovieIdService', ['upload']],
        'text' => [21, 'Text', ['upload']],
        'review-rating' => [22, 'ReviewRating', ['upload']],
        'review-storage' => [24, 'ReviewStorage', ['store', 'readMany']],
        'user-review' => [26, 'UserReview', ['append', 'page']],
        'user' => [28, 'User', ['signUp', 'login', 'logout', 'check', 'upload']],
        'search' => [29, 'Search', ['find', 'titles']],
        'ads' => [30, 'Ads', ['pick']],
    ];
    private const STORES = ['movies-db' => 33, 'reviews-db' => 36, 'users-db' => 37];
    /** Methods that are safe to repeat, and so are repeated when a connection breaks. */
    private const IDEMPOTENT = ['compose', 'find', 'titles', 'pick', 'check', 'charge', 'account', 'deposit', 'page', 'readMany', 'logout', 'ping'];

    public static function id(string $service): int
    {
        return self::SERVICES[$service][0];
    }

    public static function store(string $name): int
    {
        return self::STORES[$name];
    }

    /** The index of a method; -1 if the service does not have it. */
    public static function method(string $service, string $method): int
    {
        $place = array_search($method, self::SERVICES[$service][2], true);
        return $place === false ? -1 : $place;
    }

    /** The class of the generated client. */
    public static function client(string $service): string
    {
        return 'Movies\\Idl\\' . self::SERVICES[$service][1] . 'Client';
    }

    public static function isIdempotent(string $method): bool
    {
        return in_array($method, self::IDEMPOTENT, true);
    }
}
