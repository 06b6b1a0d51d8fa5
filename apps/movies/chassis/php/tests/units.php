<?php

declare(strict_types=1);

// Tests of the chassis that need no other program: php -d apc.enable_cli=1 OUT/php/chassis/php/tests/units.php

namespace Movies\Tests;

use Movies\Chassis\{BadFrame, Backlog, Budget, Buffer, Caller, Config, Connection, Context, Counts, Failure, Frame, Handler, Histogram, Jump};
use Movies\Chassis\{Outcome, Protocol, Requests, SharedCounts, SlotCounts, SlowNetwork, Spans, StoreAddress, Token};
use Movies\Idl\{Refused, UserAuthClient, UserAuthProcessor};
use Thrift\Exception\{TApplicationException, TException};

require __DIR__ . '/same.php';
require __DIR__ . '/slow.php';

const SECRET = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';

function config(string $more = '', string $spans = ''): Config
{
    return Config::parse("service=user-auth\nid=15\ninstance=3\nlisten=127.0.0.1:34567\nthreads=8\nqueue=64\nspans=$spans\nsecret="
        . SECRET . "\ndata=\n$more", 'test.conf');
}

// Configuration.
$config = config("# a comment\n\nupstream.ads=127.0.0.1:1, 127.0.0.1:2\ncall.ads.deadline_ms=20\noptional=ads,x\n"
    . "store.users=postgresql://users@/users?host=/run/x&port=5432\ncache.users=127.0.0.1:3");
same([$config->service, $config->id, $config->instance, $config->threads], ['user-auth', 15, 3, 8], 'configuration');
same($config->upstream('ads'), ['127.0.0.1:1', '127.0.0.1:2'], 'replicas');
same([$config->limitOf('ads'), $config->limitOf('search')], [20, null], 'limits of calls');
same([$config->isOptional('ads'), $config->isOptional('search')], [true, false], 'optional');
same($config->store('users'), ['postgresql://users@/users?host=/run/x&port=5432'], 'a store');
$whole = "service=a\nid=1\ninstance=0\nlisten=h:1\nthreads=1\nqueue=1\nspans=\nsecret=\ndata=\n";
foreach ([
    "{$whole}colour=red" => 'test.conf:10: `colour` is not a key',
    "{$whole}colour" => 'test.conf:10: `colour` is not key=value',
    "{$whole}id=2" => 'test.conf:10: `id` is there twice',
    str_replace("id=1\n", '', $whole) => 'test.conf: `id` is missing',
    str_replace('id=1', 'id=-1', $whole) => 'test.conf: `id` is -1, and takes 0 to 65535',
    str_replace('threads=1', 'threads=many', $whole) => 'test.conf: `threads` is many, and takes 1 to 1024',
    str_replace('h:1', 'h', $whole) => 'test.conf: `listen` has h, and takes HOST:PORT',
    str_replace('h:1', 'h:70000', $whole) => 'test.conf: `listen` has h:70000, and takes HOST:PORT',
] as $text => $expect) {
    try {
        Config::parse($text, 'test.conf');
        same('', $expect, 'a configuration');
    } catch (\InvalidArgumentException $error) {
        same($error->getMessage(), $expect, 'a configuration');
    }
}
$empty = config("upstream.search=\nstore.users=\ncall.ads.deadline_ms=\noptional=");
same([$empty->limitOf('ads'), $empty->isOptional('ads')], [null, false], 'empty values are none');
same(thrown(fn () => $empty->store('users')), \InvalidArgumentException::class, 'a store that is empty');
same(thrown(fn () => $config->upstream('search')), \InvalidArgumentException::class, 'an upstream that is missing');

// Frames: golden ones. The bytes follow doc/specs/HeaderFormat.md of Thrift.
$message = hex2bin('80010001' . '00000004' . '70696e67' . '00000007' . '00');
$header = hex2bin('0000' . '0101' . '0164' . '023230' . '000000');
$expect = pack('N', 10 + 12 + 17) . hex2bin('0fff' . '0000' . '00000007' . '0003') . $header . $message;
same(bin2hex(Frame::header(7, ['d' => '20'], $message)), bin2hex($expect), 'a golden header frame');
same(bin2hex(Frame::header(1, [], $message)), bin2hex(pack('N', 10 + 4 + 17) . hex2bin('0fff0000000000010001' . '00000000') . $message),
    'a golden header frame without pairs');
same(bin2hex(Frame::plain($message)), '00000011' . bin2hex($message), 'a golden plain frame');
$frame = Frame::parse(substr($expect, 4));
same([$frame->isPlain, $frame->sequence, $frame->headers, substr($frame->body, $frame->at)], [false, 7, ['d' => '20'], $message], 'it is read');
$frame = Frame::parse($message);
same([$frame->isPlain, $frame->headers, $frame->at], [true, [], 0], 'a plain one is read');
$long = ['traceparent' => str_repeat('x', 300), 'd' => '1', '' => ''];
same(Frame::parse(substr(Frame::header(0xffffffff, $long, $message), 4))->headers, $long, 'long and empty values');
same(Frame::parse(substr(Frame::header(0xffffffff, $long, $message), 4))->sequence, 0xffffffff, 'the greatest sequence id');
$head = static fn (string $hex, int $words): string => hex2bin('0fff000000000001') . pack('n', $words) . hex2bin($hex) . $message;
foreach ([
    'nothing' => '',
    'a short one' => "\x0f\xff",
    'garbage' => str_repeat('GET / HTTP/1.1', 3),
    'the loose binary protocol' => hex2bin('0000000470696e67010000000700'),
    'flags' => hex2bin('0fff000100000001000100000000') . $message,
    'the compact protocol' => $head('02000000', 1),
    'a transform' => $head('00010100', 1),
    'another kind of information' => $head('00000201', 1),
    'a text that is longer than the header' => $head('0000010105640000', 2),
    'a number without end' => $head('ffffffffffffffff', 2),
    'more pairs than there are' => $head('000001ff' . '0364' . '0000', 2),
    'a header that is longer than the frame' => $head('00000000', 999),
    'a header without a message' => hex2bin('0fff000000000001000100000000'),
    'a message of another kind' => hex2bin('0fff000000000001000100000000') . "\x82\x21",
] as $what => $bytes) {
    same(thrown(fn () => Frame::parse($bytes)), BadFrame::class, $what);
}

// Random bytes, and whole frames with some bytes changed, end as a frame or as a bad one, and never otherwise.
mt_srand(20);
$other = '';
$whole = substr($expect, 4);
for ($round = 0; $round < 20_000; $round++) {
    if ($round % 2 === 0) {
        $bytes = $round % 4 === 0 ? random_bytes(mt_rand(1, 64)) : hex2bin('0fff0000') . random_bytes(mt_rand(1, 64));
    } else {
        $bytes = $whole;
        for ($changes = mt_rand(1, 4); $changes > 0; $changes--) {
            $bytes[mt_rand(0, strlen($bytes) - 1)] = chr(mt_rand(0, 255));
        }
    }
    $error = thrown(fn () => Frame::parse($bytes));
    if ($error !== '' && $error !== BadFrame::class) {
        $other = "$error: " . bin2hex($bytes);
    }
}
same($other, '', 'random frames');

// Messages: how a processor reads arbitrary bytes. It answers a valid call; any other input raises Thrift's exception
// or BadFrame.
$context = new Context();
$counts = new SlotCounts(Counts::NAMES, 2);
$spans = new Spans(config(), $counts);
$own = new class () {
    public function check(?string $token): int
    {
        return match ($token) {
            'refused' => throw new Refused(['code' => 401, 'what' => 'no']),
            'failed' => throw Failure::unavailable('users-db', 'it is down'),
            'wrong' => throw new \LogicException('wrong'),
            default => 42,
        };
    }
};
$handler = new Handler($own, $context, $counts);
$requests = new Requests(config(), $context, $counts, $spans, $handler, UserAuthProcessor::class);
$buffer = new Buffer();
$protocol = new Protocol($buffer);
$client = new UserAuthClient($protocol, $protocol);
$call = static function (string $message, array $headers = [], int $sequence = 9) use ($requests, $buffer): Frame {
    $frame = Frame::parse(substr(Frame::header($sequence, $headers, $message), 4));
    $answer = Frame::parse(substr($requests->answer($frame, hrtime(true)), 4));
    $requests->written(1, 1);
    $buffer->set($answer->body, $answer->at);
    return $answer;
};
$send = static function (string $method, mixed ...$arguments) use ($client, $buffer): string {
    // Discard the bytes that an answer left.
    $buffer->take();
    $client->{"send_$method"}(...$arguments);
    return $buffer->take();
};
$answer = $call($send('check', 'good'));
same([$answer->sequence, $client->recv_check()], [9, 42], 'an answer');
same(preg_match('/^[0-9]+,[0-9]+,[0-9]+$/D', $answer->headers['s']), 1, 'the times of an answer');
$call($send('check', 'refused'));
same(thrown(fn () => $client->recv_check()), Refused::class, 'a refusal');
$said = static function (string $method) use ($client): array {
    try {
        return ['', $client->{"recv_$method"}()];
    } catch (TApplicationException $error) {
        return [$error->getCode(), $error->getMessage()];
    }
};
$call($send('check', 'failed'));
same($said('check'), [6, 'unavailable: users-db: it is down'], 'a failure');
$call($send('check', 'good'), ['d' => '0']);
same($said('check'), [6, 'deadline: the request came too late'], 'a spent deadline');
$call($send('ping'));
same($client->recv_ping() > 0, true, 'ping');
$call(str_replace('ping', 'pong', $send('ping')));
same($said('ping')[0], TApplicationException::UNKNOWN_METHOD, 'an unknown method');
$call(str_replace('ping', 'PING', $send('ping')));
same($said('ping')[0], TApplicationException::UNKNOWN_METHOD, 'names of methods have their case');
$call($send('counters'));
$counted = $client->recv_counters();
same([$counted['requests'], $counted['refused'], $counted['errors'], $counted['deadline']], [7, 1, 3, 1], 'counters');
$frame = Frame::parse($send('ping'));
same(Frame::parse(substr($requests->answer($frame, hrtime(true)), 4))->isPlain, true, 'a plain request has a plain answer');
same(thrown(fn () => $call(hex2bin('80010002' . '0000000470696e67' . '00000001' . '00'))), BadFrame::class, 'an answer is no request');
// Structs in structs, 100 000 deep: a bound ends it before the memory does.
$deep = substr($send('ping'), 0, -1) . str_repeat(hex2bin('0c0001'), 100_000);
same(is_subclass_of(thrown(fn () => $call($deep)), TException::class), true, 'a message that nests');
$other = '';
$whole = $send('check', 'good');
for ($round = 0; $round < 20_000; $round++) {
    $bytes = $whole;
    if ($round % 2 === 0) {
        $bytes = substr($bytes, 0, 17) . random_bytes(mt_rand(1, 48));
    }
    for ($changes = mt_rand(1, 4); $changes > 0; $changes--) {
        $bytes[mt_rand(4, strlen($bytes) - 1)] = chr(mt_rand(0, 255));
    }
    $error = thrown(fn () => $call($bytes));
    if ($error !== '' && $error !== BadFrame::class && !is_subclass_of($error, TException::class)) {
        $other = "$error: " . bin2hex($bytes);
    }
}
same($other, '', 'random messages');

// Histograms of calls.
foreach ([0 => 0, 7 => 7, 8 => 8, 15 => 15, 16 => 16, 17 => 16, 18 => 17, 31 => 23, 32 => 24, 35 => 24, 36 => 25, 1000 => 63,
    (1 << 40) - 1 => 303, 1 << 40 => 304, PHP_INT_MAX => 304] as $ns => $bucket) {
    same(Histogram::bucket($ns), $bucket, "the bucket of $ns ns");
}
same(Histogram::ofCall('a.b', 1000, '7,16,999999999999999999'),
    ['edge.a.b.wall.63' => 1, 'edge.a.b.queue.7' => 1, 'edge.a.b.application.16' => 1, 'edge.a.b.cpu.304' => 1], 'what a call adds');
foreach (['', '1', '1,2', '1,2,', ',2,3', '1,2,3,', '1,2,3,4', '-1,2,3', '1 ,2,3', "1,2,3\n", '1,2,1000000000000000000'] as $bad) {
    same(Histogram::ofCall('a.b', 0, $bad), ['edge.a.b.wall.0' => 1], "times '$bad'");
}

// Shards. The values of FNV-1a come from its authors; those for the jump hash from the paper's program, run in Python.
same(hash('fnv1a64', ''), 'cbf29ce484222325', 'FNV-1a of nothing');
same(hash('fnv1a64', 'foobar'), '85944171f73967e8', 'FNV-1a of foobar');
foreach ([[0, 1, 0], [0, 60, 0], [1, 1, 0], [1, 60, 55], [2, 60, 46], [10863919174838991, 11, 6], [2016238256797177309, 11, 3],
    [1673758223894951030, 11, 5], [256, 1024, 520], [-1, 60, 10]] as [$key, $shards, $expect]) {
    same(Jump::hash($key, $shards), $expect, "jump hash of $key over $shards");
}
$moved = 0;
for ($key = 0; $key < 10_000; $key++) {
    [$before, $after] = [Jump::shard("key:$key", 4), Jump::shard("key:$key", 5)];
    $moved += (int) ($before !== $after);
    if ($before !== $after && $after !== 4) {
        same($after, 4, 'a key that moves goes to the new shard');
    }
}
same($moved > 1_800 && $moved < 2_200, true, "a fifth of the keys moves, of 10000: $moved");

// Tokens.
$secret = hex2bin(SECRET);
$nonce = '0123456789abcdef';
$signed = static fn (string $what): string => "$what." . hash_hmac('sha256', $what, $secret);
$token = static fn (string $what): string => $signed("$what.$nonce");
same(Token::user($token('7.1000'), $secret, 999), 7, 'a token');
same(Token::id($token('7.1000')), "7#1000#$nonce", 'the id of a token');
foreach ([
    'an expired one' => $token('7.1000'),
    'another user' => '8' . substr($token('7.2000'), 1),
    'another expiry' => str_replace('.2000.', '.3000.', $token('7.2000')),
    'a part' => substr($token('7.2000'), 0, -1),
    'capitals' => strtoupper($token('7.2000')),
    'a line end' => $token('7.2000') . "\n",
    'user 0' => $token('0.2000'),
    'a negative user' => $token('-7.2000'),
    'a user with a zero in front' => $token('07.2000'),
    'a user that is too great' => $token('9999999999999999999.2000'),
    'an expiry that is too great' => $token('7.9999999999999999999'),
    'nothing' => '',
    'words' => 'a.b.c',
    'another secret' => "7.2000.$nonce." . hash_hmac('sha256', "7.2000.$nonce", 'x'),
    'another nonce' => str_replace($nonce, strrev($nonce), $token('7.2000')),
    'no nonce' => $signed('7.2000'),
    'a short nonce' => $signed('7.2000.0123'),
] as $what => $given) {
    same(thrown(fn () => Token::user($given, $secret, 1000)), Refused::class, "token: $what");
}

// The trace and the time of a request.
$context->begin('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '20', hrtime(true));
same([$context->isSampled, $context->trace, $context->parent], [true, '0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'], 'a sampled request');
same(strlen($context->span) === 16 && $context->span !== $context->parent, true, 'it has a span of its own');
same($context->left() > 0 && $context->left() <= 20_000_000, true, 'what is left');
$context->begin('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00', null, hrtime(true));
same([$context->isSampled, $context->span], [false, 'b7ad6b7169203331'], 'one that is not');
same($context->left() > 1_000_000_000, true, 'the default');
foreach (['', 'x', '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01', "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n"] as $bad) {
    $context->begin($bad, 'x', hrtime(true));
    same([$context->isSampled, $context->trace], [false, ''], "traceparent '$bad'");
}

// Spans.
$file = sys_get_temp_dir() . '/movies-php-spans-' . getmypid();
$written = new Spans(config('', $file), $counts);
$written->flush();
$context->begin('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', null, hrtime(true));
$written->add($context, Spans::CLIENT, 30, 2, Outcome::Deadline, '00000000000000ff', '0102030405060708', [1, 2, 3, 4, 5, 6], 7, 8, 9, Spans::RETRIED);
$written->flush();
$bytes = file_get_contents($file);
unlink($file);
same(strlen($bytes), 256, 'two records');
same(substr($bytes, 0, 10), pack('Vvvv', 0x31485053, 1, 15, 3), 'the first one');
same(substr($bytes, 16, 36), trim(file_get_contents('/proc/sys/kernel/random/boot_id')), 'the machine');
same(abs(unpack('P', $bytes, 56)[1] - (int) (microtime(true) * 1e9) + hrtime(true)) < 1_000_000_000, true, 'the offset of the clocks');
same(unpack('P', $bytes, 64)[1], getmypid(), 'the process');
same(bin2hex(substr($bytes, 128)), bin2hex(pack('VvvvvCCv', 0x314e5053, 15, 3, 30, 2, 1, 3, 1)
    . hex2bin('0af7651916cd43dd8448eb211c80319c') . pack('P*', 0xff, 0x0102030405060708, 1, 2, 3, 4, 5, 6, 7) . pack('VVx16', 8, 9)), 'a span');

// Counters of processes, budgets, addresses.
$counts = new SlotCounts(Counts::NAMES, 2);
$counts->own(0);
$counts->add(['requests' => 5]);
$counts->own(1);
$counts->add(['requests' => 2]);
same([$counts->all()['requests'], $counts->hasFree()], [7, true], 'counters of all rows');
$counts->own(0);
$counts->setBusy(true);
same($counts->hasFree(), false, 'all workers have connections');
$counts->own(0);
same([$counts->all()['requests'], $counts->hasFree()], [7, true], 'the next worker in its place goes on with the row');
if (function_exists('apcu_enabled') && apcu_enabled()) {
    Budget::earn('a.b');
    $spent = 0;
    while (Budget::spend('a.b')) {
        $spent++;
    }
    same($spent, 10, 'a budget has ten retries at the most');
    for ($calls = 0; $calls < 25; $calls++) {
        Budget::earn('a.b');
    }
    same([Budget::spend('a.b'), Budget::spend('a.b'), Budget::spend('a.b')], [true, true, false], 'and earns one with ten calls');
    same([Budget::turn('x', 1), Budget::turn('y', 3), Budget::turn('y', 3), Budget::turn('y', 3)], [0, 1, 2, 0], 'replicas take turns');
    $shared = new SharedCounts();
    $shared->add(['requests' => 2, 'edge.a.b.calls' => 1]);
    $shared->flush();
    $shared->add(['requests' => 1]);
    same([$shared->all()['requests'], $shared->all()['edge.a.b.calls'], $shared->all()['errors']], [3, 1, 0], 'counters in APCu');

    // Connecting takes 300 ms, which count in the call's time; the callee receives the remaining time.
    $listener = stream_socket_server('tcp://127.0.0.1:0');
    $address = stream_socket_get_name($listener, false);
    $context->begin('', '1000', hrtime(true));
    $caller = new Caller(config("upstream.search=$address\nupstream.ads=$address\ncall.ads.deadline_ms=200"), $context, $shared, $spans);
    SlowNetwork::$us = 300_000;
    $caller->start('search', 'titles', [1]);
    $asked = Frame::parse(Connection::accepted(stream_socket_accept($listener, 0))->receive());
    $ms = (int) $asked->headers['d'];
    same($ms > 0 && $ms <= 700, true, "what is left after a slow connection: $ms ms");
    $call = $caller->start('ads', 'pick', 1, 1, 3);
    same([$call->hasEnded(), stream_get_contents(stream_socket_accept($listener, 0))], [true, ''], 'nothing is asked where nothing is left');
    same(thrown(fn () => $call->result()), Failure::class, 'a connection that took too long');
    SlowNetwork::$us = 0;
} else {
    echo "skipped: APCu is off (php -d apc.enable_cli=1)\n";
}
$lost = ";keepalives='1';keepalives_idle='1';keepalives_interval='1';keepalives_count='2';tcp_user_timeout='2000'";
foreach ([
    'postgresql://users@/users?host=/run/x&port=5432' => ["pgsql:host='/run/x';port='5432';dbname='users'$lost", 'users', null],
    'postgresql://u:p%40s@db.example:6432/movies' => ["pgsql:host='db.example';port='6432';dbname='movies'$lost", 'u', 'p@s'],
    'postgres://[::1]/d' => ["pgsql:host='::1';dbname='d'$lost", null, null],
    'postgresql://u@/d?host=/a%20b%27c' => ["pgsql:host='/a b\\'c';dbname='d'$lost", 'u', null],
    'postgresql://u@h/d?tcp_user_timeout=500' => ["pgsql:host='h';dbname='d';tcp_user_timeout='500'" . substr($lost, 0, -24), 'u', null],
] as $uri => $expect) {
    $parsed = StoreAddress::parse($uri);
    same([$parsed->dsn(), $parsed->user, $parsed->password], $expect, $uri);
}
foreach (['mongodb://x/y', '', 'postgresql://u@/d?host=a;b', 'postgresql://u@/d?Host=a'] as $uri) {
    same(thrown(fn () => StoreAddress::parse($uri)), \InvalidArgumentException::class, "address '$uri'");
}
$listener = stream_socket_server('tcp://127.0.0.1:0');
$address = stream_socket_get_name($listener, false);
$waiting = [stream_socket_client("tcp://$address"), stream_socket_client("tcp://$address")];
same(Backlog::waiting($address), 2, 'connections that wait');
tell();
