<?php

declare(strict_types=1);

// Tests of request parsing: php OUT/php/services/php/tests/units.php

namespace Movies\Tests;

use Movies\Chassis\Failure;
use Movies\Idl\{Code, Refused};
use Movies\Php\{Answer, Arrival, Problem, Request};

require dirname(__DIR__, 3) . '/chassis/php/tests/same.php';
foreach (['Problem', 'Request', 'Answer', 'Arrival'] as $class) {
    require dirname(__DIR__) . "/src/$class.php";
}

/** The status that a call ends with; 0 on success. */
function status(callable $call): int
{
    try {
        $call();
        return 0;
    } catch (\Throwable $error) {
        return Problem::of($error)->status;
    }
}

$post = static fn (string $body, array $server = [], array $cookies = []): Request => new Request('POST', '/', [], $cookies, $server, $body);
$get = static fn (array $query, array $server = [], array $cookies = []): Request => new Request('GET', '/', $query, $cookies, $server);

// Bodies.
$request = $post('{"text":"Füße","stars":7,"half":7.5,"words":"7","null":null,"list":[1],"big":9223372036854775808}');
same($request->fieldText('text', 1, 6), 'Füße', 'a text');
same(status(fn () => $request->fieldText('text', 1, 5)), 400, 'limits are bytes');
same(status(fn () => $request->fieldText('text', 1, 5, Code::TOO_LARGE)), 413, 'a text that is too long');
same(status(fn () => $request->fieldText('text', 7, 9, Code::TOO_LARGE)), 400, 'one that is too short');
same($request->fieldNumber('stars', 1, 10), 7, 'a number');
same(status(fn () => $request->fieldNumber('stars', 1, 6)), 400, 'a number that is too great');
foreach (['half', 'words', 'null', 'list', 'big', 'none'] as $name) {
    same(status(fn () => $request->fieldNumber($name, 1, PHP_INT_MAX)), 400, "no number: $name");
}
foreach (['stars', 'null', 'list', 'none'] as $name) {
    same(status(fn () => $request->fieldText($name, 0, 99)), 400, "no text: $name");
}
foreach (['', '{', '[]]', '[1]', '"text"', 'null', '7', "{\"text\":\"\xff\"}", str_repeat('[', 1000), str_repeat('{"a":', 20) . '1' . str_repeat('}', 20)] as $body) {
    same(status(fn () => $post($body)->fieldText('text', 0, 9)), 400, 'a body: ' . substr($body, 0, 20));
}
$long = '{"text":"' . str_repeat('x', 65_536 - 11) . '"}';
same(strlen($long), 65_536, 'a body of 64 KiB');
same(status(fn () => $post($long)->fieldText('text', 0, 99_999)), 0, 'is read');
same(status(fn () => $post("$long ")->fieldText('text', 0, 99_999)), 400, 'and no longer one');
mt_srand(20);
$other = 0;
for ($round = 0; $round < 5_000; $round++) {
    $bytes = '{"text":"x","stars":1}';
    for ($changes = mt_rand(1, 3); $changes > 0; $changes--) {
        $bytes[mt_rand(0, strlen($bytes) - 1)] = chr(mt_rand(0, 255));
    }
    $other += (int) !in_array(status(fn () => $post($bytes)->fieldNumber('stars', 1, 10)), [0, 400], true);
}
same($other, 0, 'random bodies');

// Parameters of the query string.
$request = $get(['q' => 'the', 'n' => '20', 'ids' => '1,2,3', 'list' => ['a'], 'bad' => "\xff"]);
same([$request->queryText('q', 9), $request->queryText('none', 9), $request->queryText('list', 9), $request->queryText('bad', 9)], ['the', '', '', ''], 'texts');
same(status(fn () => $request->queryText('q', 2)), 400, 'a text that is too long');
same([$request->queryNumber('n', 5, 1, 100), $request->queryNumber('none', 5, 1, 100)], [20, 5], 'numbers');
foreach (['', ' 1', '01', '1x', '-1', '0', '101', '1e1', '99999999999999999999', ['1']] as $bad) {
    same(status(fn () => $get(['n' => $bad])->queryNumber('n', 5, 1, 100)), 400, 'no number: ' . json_encode($bad));
}
same($request->queryNumbers('ids', 3), [1, 2, 3], 'a list');
same(status(fn () => $request->queryNumbers('ids', 2)), 400, 'a list that is too long');
foreach (['', '1,', 'x', '1,,2', '0', '1;2'] as $bad) {
    same(status(fn () => $get(['ids' => $bad])->queryNumbers('ids', 100)), 400, "no list: $bad");
}

// Tokens: from a program, or from a browser, whose cookie another site could have it send.
$secret = str_repeat('s', 32);
$made = static fn (string $what): string => "$what." . hash_hmac('sha256', $what, $secret);
$token = $made('7.2000.0123456789abcdef');
$old = $made('7.500.0123456789abcdef');
$bearer = static fn (string $token): array => ['HTTP_AUTHORIZATION' => "Bearer $token"];
$own = ['HTTP_X_REQUESTED_WITH' => 'movies'];
same($post('', $bearer($token))->userToken($secret, 1000), $token, 'a bearer token');
same($post('', $own, ['token' => $token])->userToken($secret, 1000), $token, 'a cookie with the header');
same(status(fn () => $post('', [], ['token' => $token])->userToken($secret, 1000)), 401, 'a cookie without it');
same(status(fn () => $post('', ['HTTP_X_REQUESTED_WITH' => 'XMLHttpRequest'], ['token' => $token])->userToken($secret, 1000)), 401, 'with another one');
same($post('', $bearer($token), ['token' => $old])->userToken($secret, 1000), $token, 'the bearer token goes before the cookie');
same(status(fn () => $post('')->userToken($secret, 1000)), 401, 'no token');
same(status(fn () => $post('', $bearer($old))->userToken($secret, 1000)), 401, 'an expired one');
same(status(fn () => $post('', $own, ['token' => [$token]])->userToken($secret, 1000)), 401, 'a list of cookies');
same($get([], [], ['token' => $token])->user($secret, 1000), 7, 'a page with a cookie needs no header');
same([$get([])->user($secret, 1000), $get([], [], ['token' => $old])->user($secret, 1000)], [0, 0], 'visitors');
same(status(fn () => $get([], $bearer($old))->user($secret, 1000)), 401, 'a program is told that its token has expired');
same(status(fn () => $post('', [], ['token' => $token])->token()), 401, 'no other site logs anyone out');

// Waits for a process, in ms: by the web server's clock, which is cut off to 1 ms, and never one that was none.
foreach ([['1000.000', 1000.0005, 0], ['1000.000', 1000.001, 0], ['1000.000', 1002.5, 2_499], ['1000.250', 1060.25, 59_999], ['1000.000', 1061.5, 0],
    ['1003.000', 1000.0, 0], ['', 1000.0, 0], ['1000', 1001.0, 0], ['-1.000', 1001.0, 0], ["999.000\n", 1000.0, 0], ['1e2.000', 1000.0, 0]] as [$handedOn, $begun, $ms]) {
    same(intdiv(Arrival::waited($handedOn, $begun) + 1_000, 1_000_000), $ms, "a wait from '$handedOn' to $begun");
}

// Problems.
$refused = static fn (int $code): Refused => new Refused(['code' => $code, 'what' => 'what']);
foreach ([[$refused(404), 404, 'NOT_FOUND'], [$refused(402), 402, 'PAYMENT_REQUIRED'], [$refused(503), 503, 'UNAVAILABLE'], [$refused(7), 503, 'UNAVAILABLE'],
    [Failure::deadline('x'), 504, 'DEADLINE'], [Failure::told('ads', 'overloaded: x'), 503, 'OVERLOADED'], [Failure::told('ads', 'deadline: x'), 504, 'DEADLINE'],
    [Failure::told('ads', 'x'), 503, 'UNAVAILABLE'], [new \LogicException('x'), 500, 'INTERNAL']] as [$error, $status, $name]) {
    $problem = Problem::of($error);
    same([$problem->status, $problem->name], [$status, $name], $error::class);
}
same(str_contains(Problem::of(new \LogicException('a password'))->getMessage(), 'password'), false, 'what went wrong inside is not told');
same((new Answer(['text' => "</script>\xff", 'path' => '/a']))->encoded(), '{"text":"</script>�","path":"/a"}', 'any bytes are encoded');
tell();
