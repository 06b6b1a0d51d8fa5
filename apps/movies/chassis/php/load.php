<?php

declare(strict_types=1);

// Loads classes by name: from this folder, from the interface (`build/php.sh` generates it into `idl/` next to
// `chassis/`) and from Thrift (next to them), independently of the machine's include path.
spl_autoload_register(static function (string $class): void {
    $root = dirname(__DIR__, 2);
    $file = match (true) {
        str_starts_with($class, 'Movies\\Chassis\\') => __DIR__ . '/' . substr($class, 15),
        str_starts_with($class, 'Movies\\Idl\\') => "$root/idl/Movies/Idl/" . substr($class, 11),
        str_starts_with($class, 'Thrift\\') => "$root/thrift/" . strtr($class, '\\', '/'),
        default => null,
    };
    // No check for existence: all classes exist, and the opcode cache finds compiled ones without the disk.
    if ($file !== null) {
        require "$file.php";
    }
});
