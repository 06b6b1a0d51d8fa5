<?php

declare(strict_types=1);

// Finds a class of the site in the file of its name. Twig is Debian's package php-twig, in PHP's include path.
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Social\\')) {
        require __DIR__ . '/' . substr($class, 7) . '.php';
    }
});
