import { randomFillSync } from 'node:crypto';
import { NS_PER_MS, now } from './clock.js';

/** Of a request that names none. Source: the contract of the application. Units: ms. */
export const USUAL_DEADLINE_MS = 2000;

/** Content of a request header `traceparent`. W3C's version 00 only, in lower case. Source: Trace Context, 3.2.2. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

const TIMES = /^[0-9]{1,18},[0-9]{1,18},[0-9]{1,18}$/;

/** Undefined if malformed. */
export function parseTrace(text) {
  const found = TRACEPARENT.exec(text);
  return found ? { id: found[1], span: found[2], sampled: (parseInt(found[3], 16) & 1) === 1 } : undefined;
}

export function traceText({ id, span, sampled }) {
  return `00-${id}-${span}-${sampled ? '01' : '00'}`;
}

const random = Buffer.alloc(1024);
let used = random.length;

/** 16 digits of base 16, not all 0. */
export function newSpanId() {
  for (;;) {
    if (used === random.length) {
      randomFillSync(random);
      used = 0;
    }
    const id = random.toString('hex', used, (used += 8));
    if (id !== '0000000000000000') return id;
  }
}

/** Queue, application and processor time from a header `s`: three numbers of up to 18 digits. Units: ns. Undefined if malformed. */
export function parseTimes(text) {
  return TIMES.test(text) ? text.split(',').map(Number) : undefined;
}

/** 1 to 9 digits, so that no sum of them overflows; otherwise undefined. */
export function parseDecimal(text) {
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Context of a request for its calls and stores. */
export class Context {
  /** `trace` has as its span the one of this server. Units of the deadline: ns of CLOCK_MONOTONIC. */
  constructor(deadline, trace) {
    this.deadline = deadline;
    this.trace = trace;
  }

  get sampled() {
    return this.trace?.sampled ?? false;
  }

  /** The same context with at most `ms` left. Units: ms. */
  within(ms) {
    return ms === undefined ? this : new Context(Math.min(this.deadline, now() + ms * NS_PER_MS), this.trace);
  }
}
