<?php

declare(strict_types=1);

// Finds classes by their names: those of this folder, of the interface (made by `build/php.sh` into `idl/` beside
// `chassis/`) and of Thrift (beside it, too), so that nothing depends on the include path of the machine.
spl_autoload_register(static function (string $class): void {
    $root = dirname(__DIR__, 2);
    $file = match (true) {
        str_starts_with($class, 'Movies\\Chassis\\') => __DIR__ . '/' . substr($class, 15),
        str_starts_with($class, 'Movies\\Idl\\') => "$root/idl/Movies/Idl/" . substr($class, 11),
        str_starts_with($class, 'Thrift\\') => "$root/thrift/" . strtr($class, '\\', '/'),
        default => null,
    };
    // Without a look whether it is there: all classes are, and what is compiled is found without the disk.
    if ($file !== null) {
        require "$file.php";
    }
});
