/** Source of these: the contract of the application. */
export const FRAME_LIMIT = 16 * 1024 * 1024;
const MAGIC = 0x0fff;
const PAIRS = 1;
/** Magic, flags, sequence and number of words. */
const FIXED = 10;
/** Of the strict binary protocol, version 1. Source: Thrift binary protocol encoding. */
const STRICT = 0x80;
const VERSION = 0x800100;

export const Type = { CALL: 1, REPLY: 2, EXCEPTION: 3 };

/** Ends a connection. */
export class BadFrame extends Error {
  constructor() {
    super('these bytes are not a frame');
  }
}

/**
 * Parses a frame without its length: a header frame, or a plain one, which has only a message.
 *
 * Errors: `BadFrame`.
 */
export function parseFrame(body) {
  if (body[0] === STRICT) return { hasHeader: false, sequence: 0, pairs: {}, message: body };
  if (body.length < FIXED || body.readUInt16BE(0) !== MAGIC || body.readUInt16BE(2) !== 0) throw new BadFrame();
  const end = FIXED + 4 * body.readUInt16BE(8);
  if (end >= body.length || body[end] !== STRICT) throw new BadFrame();
  const pairs = parsePairs(new Cursor(body, FIXED, end));
  return { hasHeader: true, sequence: body.readUInt32BE(4), pairs, message: body.subarray(end) };
}

function parsePairs(cursor) {
  const pairs = {};
  // The binary protocol, no transforms.
  if (cursor.varint() !== 0 || cursor.varint() !== 0) throw new BadFrame();
  while (!cursor.atEnd) {
    const block = cursor.varint();
    if (block === 0) break; // Padding.
    if (block !== PAIRS) throw new BadFrame();
    for (let left = cursor.varint(); left > 0; left--) {
      const key = cursor.text();
      const value = cursor.text();
      if (key === 'traceparent' || key === 'd' || key === 's') pairs[key] = value;
    }
  }
  return pairs;
}

/** Reads from a part of a buffer; each read beyond its end is a `BadFrame`. */
class Cursor {
  constructor(bytes, at, end) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get atEnd() {
    return this.at === this.end;
  }

  varint() {
    let value = 0;
    // A number of 32 bits has at most 5 bytes.
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.atEnd) throw new BadFrame();
      const byte = this.bytes[this.at++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new BadFrame();
  }

  text() {
    const size = this.varint();
    if (size > this.end - this.at) throw new BadFrame();
    this.at += size;
    return this.bytes.latin1Slice(this.at - size, this.at);
  }
}

/**
 * The beginning of a message; `body` is the offset of the rest.
 *
 * Errors: `BadFrame`.
 */
export function parseHead(message) {
  if (message.length < 12 || message.readUIntBE(0, 3) !== VERSION) throw new BadFrame();
  const size = message.readUInt32BE(4);
  if (size > message.length - 12) throw new BadFrame();
  return {
    type: message[3],
    name: message.toString('utf8', 8, 8 + size),
    sequence: message.readInt32BE(8 + size),
    body: 12 + size,
  };
}

/** Header that precedes a message of this size in a header frame. */
export function headerBefore(sequence, size, pairs) {
  let length = 2;
  const entries = Object.entries(pairs);
  if (entries.length > 0) length += 2;
  for (const [key, value] of entries) length += varintSize(key.length) + key.length + varintSize(value.length) + value.length;
  const padded = Math.ceil(length / 4) * 4;
  const out = Buffer.alloc(4 + FIXED + padded);
  out.writeUInt32BE(FIXED + padded + size, 0);
  out.writeUInt16BE(MAGIC, 4);
  out.writeUInt32BE(sequence, 8);
  out.writeUInt16BE(padded / 4, 12);
  let at = 4 + FIXED + 2;
  if (entries.length > 0) {
    out[at++] = PAIRS;
    out[at++] = entries.length;
  }
  for (const texts of entries) {
    for (const text of texts) {
      at = writeVarint(out, at, text.length);
      at += out.latin1Write(text, at);
    }
  }
  return out;
}

/** Length that precedes a message of this size in a plain frame. */
export function lengthBefore(size) {
  const out = Buffer.alloc(4);
  out.writeUInt32BE(size, 0);
  return out;
}

/** Texts of headers have less than 16384 bytes. */
function varintSize(value) {
  return value < 0x80 ? 1 : 2;
}

function writeVarint(out, at, value) {
  if (value >= 0x80) out[at++] = (value & 0x7f) | 0x80;
  out[at++] = value >= 0x80 ? value >> 7 : value;
  return at;
}
