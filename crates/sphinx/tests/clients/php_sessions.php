<?php
// Sessions kept by php-memcached, of several processes; prints one line for each step. Its default is the binary protocol.
// Usage: php php_sessions.php HOST:PORT, or PATH:0, text or default
ini_set('session.save_handler', 'memcached');
ini_set('session.save_path', $argv[1]);
if ($argv[2] === 'text') {
    ini_set('memcached.sess_binary_protocol', '0');
}
ini_set('session.use_cookies', '0');
ini_set('session.use_strict_mode', '0');
ini_set('session.cache_limiter', '');
if (isset($argv[3])) {
    // A request of its own: counts and ends.
    session_id($argv[3]);
    session_start();
    $_SESSION['count'] = ($_SESSION['count'] ?? 0) + 1;
    echo $_SESSION['count'];
    exit;
}
// Before anything is printed, or sessions can no longer be changed.
$lines = [];
// Those of another protocol may still be there.
$first = "sphinx-{$argv[2]}";
$request = fn($id) => shell_exec(implode(' ', array_map('escapeshellarg', [PHP_BINARY, __FILE__, $argv[1], $argv[2], $id])));
$lines[] = 'count: ' . $request($first);
$lines[] = 'count: ' . $request($first);
session_id($first);
session_start();
session_regenerate_id(true);
$new = session_id();
$lines[] = 'id: ' . ($new === $first ? 'the old one' : 'a new one');
session_write_close();
$lines[] = 'count: ' . $request($new);
$lines[] = 'old session: ' . ($request($first) === '1' ? 'gone' : 'there');
session_id($new);
session_start();
$destroyed = session_destroy();
$lines[] = 'destroyed: ' . ($destroyed && $request($new) === '1' ? 'yes' : 'no');
echo implode("\n", $lines), "\n";
