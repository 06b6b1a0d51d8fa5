<?php

declare(strict_types=1);

// Prints the counters of PHP's process manager as JSON: `php status.php SOCKET`, where SOCKET is `unix:PATH` or `HOST:PORT`.
// It sends FastCGI requests, as a web server does (fastcgi-archives.github.io/FastCGI_Specification.html).

const BEGIN = 1, PARAMS = 4, INPUT = 5, OUTPUT = 6;

$address = str_starts_with($argv[1], 'unix:') ? 'unix://' . substr($argv[1], 5) : "tcp://{$argv[1]}";
$socket = stream_socket_client($address, $number, $problem, 5.0);
if ($socket === false) {
    fwrite(STDERR, "{$argv[1]}: $problem\n");
    exit(1);
}
stream_set_timeout($socket, 5);
$record = static fn (int $type, string $content): string => pack('CCnnCx', 1, $type, 1, strlen($content), 0) . $content;
$params = '';
$fields = ['SCRIPT_FILENAME' => '/.fpm', 'SCRIPT_NAME' => '/.fpm', 'REQUEST_METHOD' => 'GET', 'QUERY_STRING' => 'json'];
foreach ($fields as $name => $value) {
    $params .= chr(strlen($name)) . chr(strlen($value)) . $name . $value;
}
// The role of a responder; the connection is not kept.
$begin = $record(BEGIN, pack('nCx5', 1, 0));
fwrite($socket, $begin . $record(PARAMS, $params) . $record(PARAMS, '') . $record(INPUT, ''));
$answer = (string) stream_get_contents($socket);
$text = '';
for ($at = 0; $at + 8 <= strlen($answer); $at += 8 + $head['length'] + $head['padding']) {
    $head = unpack('Cversion/Ctype/nid/nlength/Cpadding', $answer, $at);
    if ($head['type'] === OUTPUT) {
        $text .= substr($answer, $at + 8, $head['length']);
    }
}
$body = strpos($text, "\r\n\r\n");
if ($body === false) {
    fwrite(STDERR, "{$argv[1]}: no answer\n");
    exit(1);
}
$counters = json_decode(substr($text, $body + 4), true, 4, JSON_THROW_ON_ERROR);
// For a Unix socket only the kernel knows how many requests wait: PHP reports 0. Omit the figure if the kernel cannot
// be queried.
if (str_starts_with($argv[1], 'unix:')) {
    unset($counters['listen queue'], $counters['listen queue len'], $counters['max listen queue']);
    $line = (string) shell_exec('ss -xlH src ' . escapeshellarg(substr($argv[1], 5)) . ' 2>/dev/null');
    if (preg_match('/LISTEN\s+(\d+)\s+(\d+)/', $line, $found) === 1) {
        [, $counters['listen queue'], $counters['listen queue len']] = array_map(intval(...), $found);
    }
}
echo json_encode($counters, JSON_THROW_ON_ERROR), "\n";
