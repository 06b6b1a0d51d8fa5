import { NS_PER_MS } from './clock.js';

/** Time-outs in a row that open it. Source: ours. */
const TIME_OUTS = 5;
/** How long an open one waits before a call tries the service; each try that times out doubles it. Units: ns. */
const FIRST = 1000 * NS_PER_MS;
const LONGEST = 30_000 * NS_PER_MS;

/**
 * Keeps from asking an optional service that times out again and again, so that requests do not wait for it in vain. Open, it lets one
 * call through after each back-off (half-open); an answer of any kind closes it.
 */
export class Breaker {
  #timeOuts = 0;
  /** 0: closed. */
  #wait = 0;
  #until = 0;
  #opened = 0;
  #refused = 0;

  /** Whether a call may begin: 'call', 'try' of an open breaker, or undefined. */
  admits(now) {
    if (this.#wait === 0) return 'call';
    if (now < this.#until) {
      this.#refused++;
      return undefined;
    }
    // Others wait for the outcome of this one.
    this.#until = now + this.#wait;
    return 'try';
  }

  /** The outcome of a call that was admitted. Calls that began before it opened may time out later, and are no tries. */
  ended(isTimeOut, admitted, now) {
    if (!isTimeOut) {
      this.#timeOuts = 0;
      this.#wait = 0;
      return;
    }
    if (this.#wait === 0) {
      if (++this.#timeOuts < TIME_OUTS) return;
      this.#wait = FIRST;
      this.#opened++;
    } else if (admitted === 'try') {
      this.#wait = Math.min(2 * this.#wait, LONGEST);
    } else {
      return;
    }
    this.#until = now + this.#wait;
  }

  appendTo(all, name) {
    all[`${name}.open`] = this.#wait > 0 ? 1 : 0;
    all[`${name}.opened`] = this.#opened;
    all[`${name}.refused`] = this.#refused;
  }
}
