import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import ComposePage from '#idl/ComposePage.cjs';
import Text from '#idl/Text.cjs';
import { parseTrace } from '#chassis/context.js';
import { BadFrame, FRAME_LIMIT, headerBefore, lengthBefore, parseFrame, parseHead } from '#chassis/frame.js';
import { Inbox } from '#chassis/inbox.js';
import { Bytes, Reader, readException, writeException, Writer } from '#chassis/protocol.js';

const folder = new URL('../../../contract/golden/', import.meta.url);
const goldens = readdirSync(folder).map((name) => {
  const text = readFileSync(new URL(name, folder), 'utf8');
  const hex = text.split('\n').filter((line) => !line.startsWith('#')).join('').replace(/\s/g, '');
  return { name, accept: /^# accept: yes$/m.test(text), level: /^# level: (.*)$/m.exec(text)[1], bytes: Buffer.from(hex, 'hex') };
});
const golden = (name) => goldens.find((one) => one.name === name).bytes;

function inboxOf(...chunks) {
  const inbox = new Inbox();
  for (const chunk of chunks) inbox.push(chunk);
  return inbox;
}

/** Undefined if the frame is incomplete. */
function read(bytes) {
  const body = inboxOf(bytes).takeFrame();
  if (!body) return undefined;
  const frame = parseFrame(body);
  return { frame, head: parseHead(frame.message) };
}

function process(message) {
  const handler = { ping: async () => 1n, counters: async () => ({}), drain: async () => {}, upload: async (request, text) => {} };
  new Text.Processor(handler).process(new Reader(message), new Writer(new Bytes()));
}

test('golden frames', () => {
  assert.ok(goldens.length >= 40);
  for (const { name, accept, level, bytes } of goldens) {
    if (accept || level === 'message') assert.ok(read(bytes), name);
    // Incomplete bytes are not a frame yet; their length has passed the limit check.
    else assert.throws(() => read(bytes), BadFrame, name);
    // A reply in place of a call is for the server to reject.
    if (level === 'message' && name !== 'broken-reply.hex') assert.throws(() => process(read(bytes).frame.message), Error, name);
  }
});

test('a header is written as the golden one', () => {
  const bytes = golden('header-request.hex');
  const { frame, head } = read(bytes);
  assert.deepEqual(head, { type: 1, name: 'read', sequence: 9, body: 16 });
  assert.equal(frame.sequence, 9);
  assert.equal(frame.pairs.d, '250');
  assert.ok(parseTrace(frame.pairs.traceparent).sampled);
  const { traceparent, d } = frame.pairs;
  assert.deepEqual(Buffer.concat([headerBefore(9, frame.message.length, { traceparent, d }), frame.message]), bytes);
  assert.equal(read(golden('header-sequence.hex')).frame.sequence, 0xffffffff);
  assert.equal(read(golden('header-sequence.hex')).head.sequence, -1);
});

test('frames in pieces', () => {
  const one = golden('header-request.hex');
  const two = golden('plain-ping.hex');
  const all = Buffer.concat([one, two]);
  for (let cut = 0; cut <= all.length; cut++) {
    const inbox = inboxOf(all.subarray(0, cut));
    const found = [];
    for (let frame; (frame = inbox.takeFrame()); ) found.push(frame);
    inbox.push(all.subarray(cut));
    for (let frame; (frame = inbox.takeFrame()); ) found.push(frame);
    assert.deepEqual(found, [one.subarray(4), two.subarray(4)], `cut at ${cut}`);
    assert.equal(inbox.size, 0);
  }
  const slow = new Inbox();
  for (const byte of one) slow.push(Buffer.from([byte]));
  assert.deepEqual(slow.takeFrame(), one.subarray(4));
});

test('limits of lengths', () => {
  assert.equal(inboxOf(lengthBefore(FRAME_LIMIT)).takeFrame(), undefined);
  assert.throws(() => inboxOf(lengthBefore(FRAME_LIMIT + 1)).takeFrame(), BadFrame);
  assert.throws(() => inboxOf(lengthBefore(0)).takeFrame(), BadFrame);
});

test('random bytes never do more than throw', () => {
  const seeds = goldens.map(({ bytes }) => bytes);
  for (let round = 0; round < 20000; round++) {
    let bytes;
    if (round % 4 === 0) {
      bytes = randomBytes(1 + (round % 200));
    } else {
      bytes = Buffer.from(seeds[round % seeds.length].subarray(4));
      for (let change = 0; change <= round % 5; change++) bytes[randomBytes(2).readUInt16BE() % bytes.length] = randomBytes(1)[0];
    }
    const asked = [() => parseFrame(bytes), () => parseHead(bytes), () => process(bytes), () => process(parseFrame(bytes).message)];
    asked.push(() => new ComposePage.Client(new Bytes(), Writer).recv_compose(new Reader(bytes), 2, 0));
    for (const ask of asked) {
      try {
        ask();
      } catch (error) {
        assert.ok(error instanceof Error);
      }
    }
  }
});

test('a list that is longer than its message makes no loop', () => {
  const list = (etype, size) => Buffer.from([15, 0, 9, etype, ...lengthBefore(size), 0]);
  const skip = (bytes) => new Reader(bytes).skip(12);
  assert.throws(() => skip(list(2, 0x7fffffff)));
  assert.throws(() => skip(list(0, 1)));
  assert.throws(() => skip(list(10, -1 >>> 0)));
});

test('application exceptions', () => {
  const bytes = new Bytes();
  writeException(bytes, { name: 'read', sequence: 9 }, 6, 'deadline: spent');
  const { message } = read(golden('header-exception.hex')).frame;
  assert.deepEqual(bytes.message, message);
  assert.equal(readException(message), 'deadline: spent');
});

test('numbers of 64 bits and texts', () => {
  const bytes = new Bytes();
  const writer = new Writer(bytes);
  const long = 'ä€😀'.repeat(300);
  writer.writeI64(-(2n ** 63n));
  writer.writeI64(9007199254740993n);
  writer.writeI64(7);
  writer.writeString(long);
  writer.writeBinary(Buffer.from([0, 255]));
  writer.writeDouble(1.5);
  writer.writeI16(-2);
  const reader = new Reader(bytes.message);
  assert.deepEqual([reader.readI64(), reader.readI64(), reader.readI64()], [-(2n ** 63n), 9007199254740993n, 7n]);
  assert.equal(reader.readString(), long);
  assert.deepEqual(reader.readBinary(), Buffer.from([0, 255]));
  assert.deepEqual([reader.readDouble(), reader.readI16()], [1.5, -2]);
});
