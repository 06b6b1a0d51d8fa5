import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { takeValue } from '#chassis/cache.js';
import { now, NS_PER_MS, ProcessorTime } from '#chassis/clock.js';
import { Context, newSpanId, parseDecimal, parseTimes, parseTrace, traceText } from '#chassis/context.js';
import { DeadlineSpent } from '#chassis/failure.js';
import { bucketOf, Histogram } from '#chassis/histogram.js';
import { Inbox } from '#chassis/inbox.js';
import { fnv1a64, shardOf } from '#chassis/jump.js';
import { Log } from '#chassis/log.js';
import { RECORD, writeSpan } from '#chassis/span.js';
import { Spans } from '#chassis/spans.js';
import { Store } from '#chassis/store.js';

const vectors = JSON.parse(readFileSync(new URL('../../../contract/vectors.json', import.meta.url)));

test('shards', () => {
  assert.ok(vectors.fnv1a64.length > 0);
  for (const { key_hex, hash, shards } of vectors.fnv1a64) {
    const key = Buffer.from(key_hex, 'hex');
    assert.equal(fnv1a64(key), BigInt(hash));
    for (const [n, shard] of Object.entries(shards)) assert.equal(shardOf(key, Number(n)), shard, `${key} among ${n}`);
  }
});

test('trace headers', () => {
  for (const { text, trace, span, sampled } of vectors.traceparent.good) {
    assert.deepEqual(parseTrace(text), { id: trace, span, sampled });
    assert.equal(traceText(parseTrace(text)), text);
  }
  for (const text of vectors.traceparent.bad) assert.equal(parseTrace(text), undefined, text);
  assert.match(newSpanId(), /^[0-9a-f]{16}$/);
});

test('histograms', () => {
  assert.ok(vectors.buckets.length > 0);
  for (const { ns, bucket } of vectors.buckets) assert.equal(bucketOf(Number(ns)), bucket, ns);
  const histogram = new Histogram();
  for (const ns of [3, 1000, 1001, 3]) histogram.add(ns);
  const all = {};
  histogram.appendTo(all, 'edge');
  assert.deepEqual(all, { 'edge.3': 2, 'edge.63': 2 });
});

test('times of answers', () => {
  assert.ok(vectors.times.good.length > 0 && vectors.times.bad.length > 0);
  for (const { text, times } of vectors.times.good) assert.deepEqual(parseTimes(text), times.map(Number));
  for (const text of vectors.times.bad) assert.equal(parseTimes(text), undefined, text);
});

test('decimals', () => {
  const check = (text, want) => assert.equal(parseDecimal(text), want, text);
  check('0', 0);
  check('250', 250);
  check('999999999', 999999999);
  for (const bad of ['1000000000', '', '-1', '+1', '1.5', ' 1', '1\n']) check(bad, undefined);
});

test('layout of a span', () => {
  const span = {
    service: 0x0102,
    instance: 0x0304,
    peer: 0x0506,
    method: 0x0708,
    kind: 2,
    outcome: 3,
    flags: 1,
    trace: 'a0a1a2a3a4a5a6a7a8a9aaabacadaeaf',
    span: '1122334455667788',
    parent: '0000000000000099',
    stamps: [1, 2, 3, 4, 5, 6],
    cpu: 7,
    bytesIn: 8,
    bytesOut: 9,
  };
  const out = Buffer.alloc(2 * RECORD, 0xff);
  writeSpan(out, RECORD, span);
  const numbers = [1, 2, 3, 4, 5, 6, 7].map((n) => `0${n}00000000000000`).join('');
  const want = `53504e31020104030605080702030100${span.trace}88776655443322119900000000000000${numbers}0800000009000000${'00'.repeat(16)}`;
  assert.equal(out.toString('hex', RECORD), want);
});

test('a file of spans', () => {
  const folder = mkdtempSync(join(tmpdir(), 'spans-'));
  const file = join(folder, 'x.spans');
  try {
    const spans = new Spans({ id: 12, instance: 3, spans: file }, new Log('x', 0));
    const one = { kind: 0, method: 0, outcome: 0, trace: '00'.repeat(16), span: '1'.repeat(16), parent: '2'.repeat(16), bytesIn: 1, bytesOut: 2 };
    for (let at = 0; at < 100; at++) spans.add({ ...one, stamps: [5, 0, 7, 0, 0, 0] });
    spans.close();
    const got = readFileSync(file);
    assert.equal(got.length, 101 * RECORD);
    assert.equal(spans.count, 100);
    assert.equal(got.readUInt32LE(0), 0x31485053);
    assert.deepEqual([got.readUInt16LE(4), got.readUInt16LE(6), got.readUInt16LE(8)], [1, 12, 3]);
    assert.equal(got.toString('ascii', 16, 52), readFileSync('/proc/sys/kernel/random/boot_id', 'ascii').trim());
    const wall = Number(got.readBigInt64LE(56)) + now();
    assert.ok(Math.abs(wall / 1e6 - Date.now()) < 60_000);
    assert.equal(got.readBigUInt64LE(64), BigInt(process.pid));
    // Stamps never go back.
    const stamps = [0, 1, 2, 3, 4, 5].map((at) => Number(got.readBigUInt64LE(100 * RECORD + 48 + 8 * at)));
    assert.deepEqual(stamps, [5, 5, 7, 7, 7, 7]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the processor time of requests adds up to what was used', () => {
  const time = new ProcessorTime();
  const before = process.cpuUsage();
  const first = time.begin();
  const second = time.begin();
  for (const end = Date.now() + 30; Date.now() < end; );
  const shares = [time.end(second), time.end(first)];
  const { user, system } = process.cpuUsage(before);
  const used = (user + system) * 1000;
  assert.ok(shares[0] > 0 && shares[1] >= shares[0]);
  assert.ok(shares[0] + shares[1] <= used, `${shares} of ${used}`);
});

test('values of a cache', () => {
  const take = (text, key = 'video:1') => {
    const inbox = new Inbox();
    inbox.push(Buffer.from(text));
    const found = takeValue(inbox, key);
    return found && { ...found, left: inbox.size };
  };
  assert.deepEqual(take('END\r\n'), { answer: null, size: 5, left: 0 });
  assert.deepEqual(take('VALUE video:1 0 3\r\n\r\nx\r\nEND\r\nmore'), { answer: Buffer.from('\r\nx'), size: 29, left: 4 });
  for (const part of ['', 'EN', 'VALUE video:1 0 3\r\n', 'VALUE video:1 0 3\r\nabc\r\nEND\r']) assert.equal(take(part), undefined, part);
  const bad = ['ERROR\r\n', 'VALUE video:2 0 3\r\n', 'VALUE video:1 0 -3\r\n', 'VALUE video:1 0 99999999\r\n', 'x'.repeat(600)];
  bad.push('VALUE video:1 0 3\r\nabcdEND\r\n\r\n', 'SERVER_ERROR out of memory\r\n');
  for (const text of bad) assert.throws(() => take(text), Error, text);
});

test('a connection to a database that says nothing is given up', { timeout: 20_000 }, async () => {
  const silent = createServer();
  const ended = new Promise((resolve) => {
    silent.on('connection', (socket) => socket.on('error', () => {}).on('close', resolve).resume());
  });
  await new Promise((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const config = { threads: 1, store: () => [`postgresql://movies@127.0.0.1:${silent.address().port}/movies`] };
  const store = new Store({ config, log: { error() {} } }, 'movies');
  // Time enough to connect on a busy machine.
  await assert.rejects(store.get(new Context(now() + 500 * NS_PER_MS), 'movies', '1'), DeadlineSpent);
  // Its place is free then.
  await ended;
  silent.close();
});

test('log lines', () => {
  const lines = [];
  const log = new Log('plot', 2, (text) => lines.push(text));
  for (let at = 0; at < 25; at++) log.error('it "failed"', { error: 'a\nb' });
  assert.ok(lines.length >= 10 && lines.length <= 20, `${lines.length}`);
  const { ts, ...line } = JSON.parse(lines[0]);
  assert.deepEqual(line, { level: 'error', service: 'plot', instance: 2, msg: 'it "failed"', error: 'a\nb' });
  assert.ok(ts > 1e12);
});
