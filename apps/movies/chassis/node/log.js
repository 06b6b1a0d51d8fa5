import { writeSync } from 'node:fs';

/** Source: the contract of the application. */
const ERRORS_PER_SECOND = 10;

/** JSON lines on standard error, at most 10 errors in a second. */
export class Log {
  #second = 0;
  #written = 0;
  #leftOut = 0;

  constructor(service, instance, write = (text) => writeSync(2, text)) {
    this.service = service;
    this.instance = instance;
    this.write = write;
  }

  info(msg, more = {}) {
    this.#line('info', msg, more);
  }

  /** Names in `left_out` how many before it were not written. */
  error(msg, more = {}) {
    const second = Math.floor(Date.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#written = 0;
    }
    if (++this.#written > ERRORS_PER_SECOND) {
      this.#leftOut++;
      return;
    }
    this.#line('error', msg, this.#leftOut > 0 ? { ...more, left_out: this.#leftOut } : more);
    this.#leftOut = 0;
  }

  #line(level, msg, more) {
    const line = { ts: Date.now(), level, service: this.service, instance: this.instance, msg, ...more };
    try {
      this.write(JSON.stringify(line) + '\n');
    } catch {
      // A failed write cannot be reported anywhere else.
    }
  }
}
