import { readFileSync } from 'node:fs';
import { now } from './clock.js';

/** Source of the layout: the contract of the application. */
export const RECORD = 128;
const HEAD_MAGIC = 0x31485053;
const SPAN_MAGIC = 0x314e5053;
const VERSION = 1;

export const Kind = { SERVER: 0, CLIENT: 1, STORE: 2 };
export const RETRIED = 1;

/** Stamps are in ns of CLOCK_MONOTONIC; one that was not reached, 0, becomes the one before it. */
export function fillStamps(stamps) {
  for (let at = 1; at < stamps.length; at++) if (stamps[at] < stamps[at - 1]) stamps[at] = stamps[at - 1];
}

export function writeSpan(out, at, one) {
  out.fill(0, at, at + RECORD);
  out.writeUInt32LE(SPAN_MAGIC, at);
  out.writeUInt16LE(one.service, at + 4);
  out.writeUInt16LE(one.instance, at + 6);
  out.writeUInt16LE(one.peer, at + 8);
  out.writeUInt16LE(one.method, at + 10);
  out[at + 12] = one.kind;
  out[at + 13] = one.outcome;
  out.writeUInt16LE(one.flags, at + 14);
  out.write(one.trace, at + 16, 16, 'hex');
  // Ids are written as numbers, and are texts here: most significant digit first.
  out.writeBigUInt64LE(BigInt(`0x${one.span}`), at + 32);
  out.writeBigUInt64LE(BigInt(`0x${one.parent}`), at + 40);
  for (let stamp = 0; stamp < 6; stamp++) out.writeBigUInt64LE(BigInt(one.stamps[stamp]), at + 48 + 8 * stamp);
  out.writeBigUInt64LE(BigInt(one.cpu), at + 96);
  out.writeUInt32LE(one.bytesIn, at + 104);
  out.writeUInt32LE(one.bytesOut, at + 108);
}

/** The first record of a process in its file. */
export function spanHead({ id, instance }) {
  const head = Buffer.alloc(RECORD);
  head.writeUInt32LE(HEAD_MAGIC, 0);
  head.writeUInt16LE(VERSION, 4);
  head.writeUInt16LE(id, 6);
  head.writeUInt16LE(instance, 8);
  head.write(readFileSync('/proc/sys/kernel/random/boot_id', 'ascii').trim(), 16, 36, 'ascii');
  const wall = (performance.timeOrigin + performance.now()) * 1e6;
  head.writeBigInt64LE(BigInt(Math.round(wall - now())), 56);
  head.writeBigUInt64LE(BigInt(process.pid), 64);
  return head;
}
