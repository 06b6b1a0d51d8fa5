<?php

declare(strict_types=1);

// Reads the frames that all chassis must read alike: php OUT/php/chassis/php/tests/golden.php SOURCE/contract

namespace Movies\Tests;

use Movies\Chassis\{BadFrame, Buffer, Context, Frame, Jump, Protocol, Token};
use Movies\Idl\{PlotClient, Refused};
use Thrift\Exception\{TApplicationException, TException};
use Thrift\Type\TType;

require __DIR__ . '/same.php';

$folder = $argv[1] ?? exit("usage: golden.php CONTRACT\n");

/** A message, whole; the protocol stands behind it. */
function message(string $bytes): Frame
{
    $size = unpack('N', $bytes)[1];
    if ($size !== strlen($bytes) - 4) {
        throw new BadFrame('its length is another');
    }
    $frame = Frame::parse(substr($bytes, 4));
    $protocol = new Protocol(new Buffer($frame->body, $frame->at));
    $protocol->readMessageBegin($name, $type, $sequence);
    $protocol->skip(TType::STRUCT);
    return $frame;
}

$frames = [];
foreach (glob("$folder/golden/*.hex") as $file) {
    $text = file_get_contents($file);
    preg_match_all('/^# (\w+): (.*)$/m', $text, $said, PREG_SET_ORDER);
    $said = array_column($said, 2, 1);
    $bytes = hex2bin(preg_replace('/^#.*$|\s+/m', '', $text));
    $name = basename($file, '.hex');
    try {
        $frames[$name] = message($bytes);
        same('yes', $name === 'broken-reply' ? 'yes' : $said['accept'], "$name: {$said['about']}");
    } catch (BadFrame | TException $error) {
        same('no', $said['accept'], "$name: {$said['about']}: {$error->getMessage()}");
    }
}
$trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
foreach (['header-request', 'header-other-order', 'header-padded', 'header-other-keys'] as $name) {
    $headers = $frames[$name]->headers;
    same([$headers['traceparent'], $headers['d'], $frames[$name]->sequence], [$trace, '250', 9], $name);
}
same([$frames['header-sequence']->sequence, $frames['plain-ping']->isPlain], [0xffffffff, true], 'a great sequence id, a plain frame');
$read = static function (string $name) use ($frames): mixed {
    $protocol = new Protocol(new Buffer($frames[$name]->body, $frames[$name]->at));
    try {
        return (new PlotClient($protocol, $protocol))->recv_read();
    } catch (Refused $refused) {
        return [$refused->code, $refused->what];
    } catch (TApplicationException $error) {
        return [$error->getCode(), $error->getMessage()];
    }
};
same([$read('header-answer'), $read('plain-answer')], ['A café.', 'A café.'], 'answers');
same([$read('header-refused'), $read('header-exception')], [[404, 'plot 42: there is none'], [6, 'deadline: spent']], 'refusals');
// Written frames equal the golden ones.
$request = $frames['header-request'];
same(bin2hex(Frame::header(9, ['traceparent' => $trace, 'd' => '250'], substr($request->body, $request->at))),
    bin2hex(pack('N', strlen($request->body)) . $request->body), 'a frame that is written');

$vectors = json_decode(file_get_contents("$folder/vectors.json"), true, 16, JSON_THROW_ON_ERROR);
foreach ($vectors['fnv1a64'] as ['key_hex' => $key, 'shards' => $shards]) {
    foreach ($shards as $count => $shard) {
        same(Jump::shard(hex2bin($key), $count), $shard, "shard of $key of $count");
    }
}
foreach ($vectors['jump'] as ['key' => $key, 'shards' => $shards]) {
    // Keys beyond 63 bits are negative numbers here.
    $number = bits($key);
    foreach ($shards as $count => $shard) {
        same(Jump::hash($number, $count), $shard, "jump hash of $key of $count");
    }
}
['secret' => $secret, 'now_s' => $now, 'good' => $good, 'bad' => $bad] = $vectors['tokens'];
foreach ($good as ['token' => $token, 'user' => $user]) {
    same(Token::user($token, hex2bin($secret), $now), (int) $user, "token $token");
}
foreach ($bad as ['token' => $token, 'why' => $why]) {
    same(thrown(fn () => Token::user($token, hex2bin($secret), $now)), Refused::class, "token: $why");
}
$context = new Context();
foreach ($vectors['traceparent']['good'] as ['text' => $text, 'trace' => $id, 'span' => $span, 'sampled' => $isSampled]) {
    $context->begin($text, null, 0);
    same([$context->trace, $context->parent, $context->isSampled], [$id, $span, $isSampled], "traceparent $text");
}
foreach ($vectors['traceparent']['bad'] as $text) {
    $context->begin($text, null, 0);
    same([$context->trace, $context->isSampled], ['', false], "traceparent '$text'");
}

/** 64 bits of a text in base 10, as PHP's integer has them. */
function bits(string $decimal): int
{
    $value = [0, 0];
    foreach (str_split($decimal) as $digit) {
        $low = $value[1] * 10 + (int) $digit;
        $value = [($value[0] * 10 + ($low >> 32)) & 0xffffffff, $low & 0xffffffff];
    }
    return ($value[0] << 32) | $value[1];
}
tell();
