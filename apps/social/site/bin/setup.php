<?php

declare(strict_types=1);

// Sets up one PHP server of the site, once, before it starts: `php setup.php CONFIG`. The secret of the installation is made
// by the first and read by the others out of the database; templates become PHP.

namespace Social;

require dirname(__DIR__) . '/src/load.php';

$config = require $argv[1];
$db = new Db($config['database']);
$db->run("INSERT IGNORE INTO installation (name, value) VALUES ('secret', ?)", [bin2hex(random_bytes(32))]);
$made = [
    'secret' => $db->value("SELECT value FROM installation WHERE name = 'secret'"),
    // The hash that is compared for an unknown name, at the same cost.
    'dummy_hash' => password_hash(bin2hex(random_bytes(32)), PASSWORD_BCRYPT, ['cost' => $config['hash_cost']]),
];
umask(0077);
$file = $config['state'] . '/installation.php';
if (file_put_contents($file, '<?php return ' . var_export($made, true) . ";\n") === false) {
    fwrite(STDERR, "cannot write $file\n");
    exit(1);
}
(new View($config['state'] . '/twig'))->compileAll();
