import { connect } from 'node:net';
import { NS_PER_MS, now } from './clock.js';
import { ConnectionLost, DeadlineSpent, Unavailable } from './failure.js';
import { Inbox } from './inbox.js';

/** Source of these: the contract of the application. */
const POOL_SIZE = 8;
const LONGEST_WAIT_MS = 1000;

/** Timers have whole milliseconds, and must not end before the time. Units: ns. */
export function msUntil(until) {
  return Math.max(1, Math.ceil((until - now()) / NS_PER_MS));
}

/** A connection with at most one question outstanding. */
class Connection {
  #socket;
  #inbox = new Inbox();
  #waiting;
  isOpen = true;

  constructor(socket, onEnd) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', (error) => this.#end(new ConnectionLost(error.message)));
    socket.on('close', () => {
      this.#end(new ConnectionLost('the connection ended before the answer'));
      onEnd(this);
    });
  }

  /**
   * Sends the parts of a request and resolves to its answer, which `take` finds in the inbox (undefined: not yet).
   * `times` gets when it was sent and when the answer began.
   *
   * Errors: `ConnectionLost`, `DeadlineSpent`, or an error of `take`. The connection is then closed.
   */
  exchange(parts, take, until, times) {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) return reject(new ConnectionLost('the connection ended'));
      const timer = setTimeout(() => this.#end(new DeadlineSpent('no answer in time')), msUntil(until));
      this.#waiting = { resolve, reject, take, times, timer };
      this.#socket.cork();
      for (const part of parts) this.#socket.write(part);
      this.#socket.uncork();
      times.sent = now();
    });
  }

  close() {
    this.#end(new ConnectionLost('the connection was closed'));
  }

  #receive(chunk) {
    // No request is outstanding, so this is not an answer.
    if (!this.#waiting) return this.close();
    this.#waiting.times.answered ||= now();
    this.#inbox.push(chunk);
    try {
      const answer = this.#waiting.take(this.#inbox);
      if (answer === undefined) return;
      // A connection with bytes after the answer is not reused.
      if (this.#inbox.size > 0) this.isOpen = false;
      const { resolve, timer } = this.#waiting;
      this.#waiting = undefined;
      clearTimeout(timer);
      resolve(answer);
    } catch (error) {
      this.#end(error);
    }
  }

  #end(error) {
    this.isOpen = false;
    this.#socket.destroy();
    if (!this.#waiting) return;
    const { reject, timer } = this.#waiting;
    this.#waiting = undefined;
    clearTimeout(timer);
    reject(error);
  }
}

/** Keeps connections to one address, which are made when they are needed. */
export class Pool {
  #idle = [];
  #used = 0;
  #waiting = [];

  constructor(address) {
    this.address = address;
  }

  /**
   * Runs `work` with a connection, and keeps the connection on success.
   *
   * Errors: `DeadlineSpent`, `Unavailable`, `ConnectionLost`, or an error of `work`.
   */
  async use(until, work) {
    await this.#place(until);
    let connection;
    try {
      connection = this.#idle.pop() ?? (await this.#connect(until));
      const result = await work(connection);
      if (connection.isOpen) this.#idle.push(connection);
      else connection.close();
      return result;
    } catch (error) {
      connection?.close();
      // If the other end closed it, the idle ones are dead too.
      if (error instanceof ConnectionLost) this.close();
      throw error;
    } finally {
      this.#leave();
    }
  }

  /** Closes the idle connections. */
  close() {
    for (const one of this.#idle.splice(0)) one.close();
  }

  #place(until) {
    if (this.#used < POOL_SIZE) {
      this.#used++;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const left = msUntil(until);
      const one = { resolve };
      one.timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(one), 1);
        const what = `${this.address.text}: all ${POOL_SIZE} connections stay in use`;
        reject(left <= LONGEST_WAIT_MS ? new DeadlineSpent(what) : new Unavailable(what));
      }, Math.min(left, LONGEST_WAIT_MS));
      this.#waiting.push(one);
    });
  }

  #leave() {
    const next = this.#waiting.shift();
    if (!next) {
      this.#used--;
      return;
    }
    clearTimeout(next.timer);
    next.resolve();
  }

  #connect(until) {
    return new Promise((resolve, reject) => {
      const { host, port, text } = this.address;
      const socket = connect({ host, port, noDelay: true });
      const fail = (error) => {
        clearTimeout(timer);
        socket.destroy();
        reject(error);
      };
      const timer = setTimeout(() => fail(new DeadlineSpent(`${text} was not connected in time`)), msUntil(until));
      const onError = (error) => fail(new ConnectionLost(error.message));
      socket.once('error', onError);
      socket.once('connect', () => {
        clearTimeout(timer);
        socket.off('error', onError);
        resolve(new Connection(socket, (ended) => this.#forget(ended)));
      });
    });
  }

  #forget(connection) {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }
}
