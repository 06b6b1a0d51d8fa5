import thrift from 'thrift';
import { now } from './clock.js';

const { TBinaryProtocol, TFramedTransport, Thrift } = thrift;
const { EXCEPTION } = Thrift.MessageType;
const { TApplicationException } = Thrift;
export const { TApplicationExceptionType } = Thrift;

/** The least that a structure in another takes is 3 bytes, so 64 levels are more than any answer here has. */
const DEEPEST = 64;

/** Thrift's binary protocol on bytes that are there; numbers of 64 bits are BigInts. */
export class Reader extends TBinaryProtocol {
  /** When the message was decoded. */
  decoded = 0;
  #depth = 0;

  constructor(bytes) {
    super(new TFramedTransport(bytes), true);
  }

  readMessageEnd() {
    this.decoded = now();
  }

  readI64() {
    return this.trans.read(8).readBigInt64BE(0);
  }

  readListBegin() {
    return this.#checked(super.readListBegin());
  }

  readSetBegin() {
    return this.#checked(super.readSetBegin());
  }

  readMapBegin() {
    return this.#checked(super.readMapBegin());
  }

  skip(type) {
    if (++this.#depth > DEEPEST) throw new Error(`more than ${DEEPEST} structures in each other`);
    super.skip(type);
    this.#depth--;
  }

  /** Each element takes a byte at least, so that a few bytes cannot make a long loop. */
  #checked(begin) {
    const left = this.trans.inBuf.length - this.trans.readPos;
    if (begin.size < 0 || begin.size > left) throw new Error(`${begin.size} elements in ${left} bytes`);
    return begin;
  }
}

/** Bytes that a `Writer` makes: the output transport of generated code. */
export class Bytes {
  #buffer = Buffer.allocUnsafe(512);
  #size = 0;
  /** When the message was begun. */
  begun = 0;

  /** `onFlush` is called when the message is complete. */
  constructor(onFlush = () => {}) {
    this.flush = onFlush;
  }

  clear() {
    this.#size = 0;
  }

  /** Room for `size` bytes: the buffer and the offset in it. */
  reserve(size) {
    const at = this.#size;
    this.#size += size;
    if (this.#size > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#size, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, at);
      this.#buffer = larger;
    }
    return [this.#buffer, at];
  }

  get message() {
    return this.#buffer.subarray(0, this.#size);
  }
}

/** Thrift's binary protocol into `Bytes`, without a small buffer for each number. */
export class Writer extends TBinaryProtocol {
  constructor(bytes) {
    super(bytes, true, true);
  }

  /** Generated code also starts over with this after an incomplete message. */
  writeMessageBegin(name, type, sequence) {
    this.trans.clear();
    this.trans.begun = now();
    this.writeI32(TBinaryProtocol.VERSION_1 | type);
    this.writeString(name);
    this.writeI32(sequence);
  }

  writeMessageEnd() {}

  flush() {
    this.trans.flush();
  }

  writeByte(value) {
    const [buffer, at] = this.trans.reserve(1);
    buffer[at] = value;
  }

  writeI16(value) {
    const [buffer, at] = this.trans.reserve(2);
    buffer.writeInt16BE(value, at);
  }

  writeI32(value) {
    const [buffer, at] = this.trans.reserve(4);
    buffer.writeInt32BE(value, at);
  }

  writeI64(value) {
    const [buffer, at] = this.trans.reserve(8);
    buffer.writeBigInt64BE(BigInt(value), at);
  }

  writeDouble(value) {
    const [buffer, at] = this.trans.reserve(8);
    buffer.writeDoubleBE(value, at);
  }

  writeString(value) {
    const size = Buffer.byteLength(value);
    this.writeI32(size);
    const [buffer, at] = this.trans.reserve(size);
    buffer.write(value, at, size);
  }

  writeBinary(value) {
    this.writeI32(value.length);
    const [buffer, at] = this.trans.reserve(value.length);
    value.copy(buffer, at);
  }
}

/** Replaces the message written so far by an application exception. */
export function writeException(bytes, { name, sequence }, type, what) {
  const writer = new Writer(bytes);
  writer.writeMessageBegin(name, EXCEPTION, sequence);
  // By hand, since the library's own writer omits the type (it looks for it under another name).
  writer.writeFieldBegin('message', Thrift.Type.STRING, 1);
  writer.writeString(what);
  writer.writeFieldBegin('type', Thrift.Type.I32, 2);
  writer.writeI32(type);
  writer.writeFieldStop();
}

/** The text of the application exception in this message. */
export function readException(message) {
  const reader = new Reader(message);
  reader.readMessageBegin();
  const said = new TApplicationException();
  said.read(reader);
  return said.message ?? '';
}
