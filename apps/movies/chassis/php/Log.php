<?php

declare(strict_types=1);

namespace Movies\Chassis;

/** Lines of JSON on standard error: none for a request that went well, and a bounded number of errors. */
final class Log
{
    private const ERRORS_PER_SECOND = 10;

    private static string $service = '';
    private static int $instance = 0;
    private static int $second = 0;
    private static int $errors = 0;

    public static function begin(Config $config): void
    {
        self::$service = $config->service;
        self::$instance = $config->instance;
    }

    /** @param array<string, mixed> $more */
    public static function error(string $message, array $more = []): void
    {
        $now = time();
        if (PHP_SAPI === 'cli') {
            self::$errors = $now === self::$second ? self::$errors + 1 : 1;
            self::$second = $now;
        } else {
            // A process under php-fpm forgets all with its request.
            self::$errors = (int) apcu_inc("log.$now", 1, $isNew, 2);
        }
        if (self::$errors <= self::ERRORS_PER_SECOND) {
            self::write($message, $more);
        }
    }

    /** @param array<string, mixed> $more */
    private static function write(string $message, array $more): void
    {
        $line = ['ts' => (int) (microtime(true) * 1e3), 'level' => 'error', 'service' => self::$service,
            'instance' => self::$instance, 'msg' => $message, ...$more];
        $json = json_encode($line, JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
        file_put_contents('php://stderr', "$json\n");
    }
}
