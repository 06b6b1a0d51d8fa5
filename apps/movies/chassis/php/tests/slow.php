<?php

declare(strict_types=1);

// In place of PHP's function, which the chassis calls by the name that it has in its own namespace, too.

namespace Movies\Chassis;

final class SlowNetwork
{
    /** How long each connection takes. Units: µs. */
    public static int $us = 0;
}

function stream_socket_client(string $address, ?int &$code, ?string &$why, float $timeout, int $flags, mixed $context): mixed
{
    usleep(SlowNetwork::$us);
    return \stream_socket_client($address, $code, $why, $timeout, $flags, $context);
}
