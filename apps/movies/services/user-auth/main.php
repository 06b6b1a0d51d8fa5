<?php

declare(strict_types=1);

// Starts the service: php main.php CONFIGFILE

namespace Movies\UserAuth;

use Movies\Chassis\{Config, Context, Handler, Log, Requests, Server, SlotCounts, Spans, Store};
use Movies\Idl\UserAuthProcessor;

require dirname(__DIR__, 2) . '/chassis/php/load.php';
require __DIR__ . '/Accounts.php';

try {
    $config = Config::read($argv[1] ?? throw new \InvalidArgumentException('usage: movies-user-auth CONFIGFILE'));
    Log::begin($config);
    $secret = $config->secretBytes();
    $users = $config->store('users');
    $make = static function (SlotCounts $counts) use ($config, $secret, $users): array {
        $context = new Context();
        $spans = new Spans($config, $counts);
        $accounts = new Accounts(new Store('users-db', $users, $context, $counts, $spans), $secret);
        $handler = new Handler($accounts, $context, $counts);
        return [new Requests($config, $context, $counts, $spans, $handler, UserAuthProcessor::class), $spans];
    };
    exit((new Server($config, $make, ['users-db.update']))->run());
} catch (\InvalidArgumentException | \RuntimeException $error) {
    fwrite(STDERR, "user-auth: {$error->getMessage()}\n");
    exit(2);
}
