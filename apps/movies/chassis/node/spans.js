import { closeSync, openSync, writeSync } from 'node:fs';
import { fillStamps, RECORD, spanHead, writeSpan } from './span.js';

/** A write of 8 KiB, as the other chassis have it. */
const BUFFERED = 64;
const FLUSH_EACH_MS = 100;

/** Collects spans and appends them to a file in whole records. It never drops one. */
export class Spans {
  #config;
  #log;
  #file;
  #timer;
  #buffer = Buffer.alloc(BUFFERED * RECORD);
  #size = 0;
  count = 0;

  /** Writes no spans if the configuration names no file. */
  constructor(config, log) {
    this.#config = config;
    this.#log = log;
    if (config.spans === '') return;
    this.#file = openSync(config.spans, 'a', 0o644);
    this.#write(spanHead(config));
    this.#timer = setInterval(() => this.flush(), FLUSH_EACH_MS);
    this.#timer.unref();
  }

  add(span) {
    if (this.#file === undefined) return;
    fillStamps(span.stamps);
    const { id: service, instance } = this.#config;
    writeSpan(this.#buffer, this.#size, { service, instance, peer: 0, flags: 0, cpu: 0, ...span });
    this.#size += RECORD;
    this.count++;
    if (this.#size === this.#buffer.length) this.flush();
  }

  flush() {
    if (this.#size === 0) return;
    try {
      this.#write(this.#buffer.subarray(0, this.#size));
    } catch (error) {
      this.#log.error('spans are lost: they cannot be written', { bytes: this.#size, error: error.message });
    }
    this.#size = 0;
  }

  close() {
    if (this.#file === undefined) return;
    clearInterval(this.#timer);
    this.flush();
    closeSync(this.#file);
    this.#file = undefined;
  }

  #write(bytes) {
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
  }
}
