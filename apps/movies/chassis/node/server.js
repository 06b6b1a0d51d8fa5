import { createServer } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { NS_PER_MS, now, ProcessorTime } from './clock.js';
import { Context, newSpanId, parseDecimal, parseTrace, USUAL_DEADLINE_MS } from './context.js';
import { Outcome } from './failure.js';
import { BadFrame, headerBefore, lengthBefore, parseFrame, parseHead, Type } from './frame.js';
import { Inbox } from './inbox.js';
import { Bytes, Reader, readException, TApplicationExceptionType, writeException, Writer } from './protocol.js';
import { row } from './registry.js';
import { fillStamps, Kind } from './span.js';

/** More than 30 callers with 8 connections each have, and less than the 1024 descriptors of a process. */
const MOST_PEERS = 512;
/** Source: the contract of the application. */
const LONGEST_END_MS = 2000;
/** How often is looked whether requests under way have ended. Units: ms. */
const LOOK_MS = 2;
/** A caller that reads no answer for this long has given up. */
const LONGEST_WRITE_MS = USUAL_DEADLINE_MS;
/** Of Thrift: a structure; the field of `Refused` in a reply has number 1, a result 0. */
const STRUCT = 12;

/**
 * Answers requests: one for each connection at a time, `threads` in all, while `queue` more wait. A frame is complete when
 * the event loop hands it over; the stamps do not include its wait for the loop in the kernel.
 */
export class Server {
  #service;
  #Processor;
  #makeHandler;
  #methods;
  #processorTime = new ProcessorTime();
  #peers = new Set();
  #server;
  #atWork = 0;
  #waiting = [];
  #draining = false;

  /** `makeHandler(context)` makes the handler of one request. */
  constructor(service, Processor, makeHandler) {
    this.#service = service;
    this.#Processor = Processor;
    this.#makeHandler = makeHandler;
    this.#methods = row(service.config.service).methods;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  /** Resolves to the address that it listens on. */
  listen() {
    const { host, port } = this.#service.config.listen;
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog: 511 }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => this.#service.log.error('a connection cannot be accepted', { error: error.message }));
        resolve(this.#server.address());
      });
    });
  }

  /** Takes no more connections, answers the requests that have been received, and closes connections then. */
  async end() {
    this.#draining = true;
    this.#server.close();
    const until = now() + LONGEST_END_MS * NS_PER_MS;
    while (this.#peers.size > 0 && now() < until) {
      // Data in the kernel's buffer is read in the next turns of the event loop.
      await turn();
      await turn();
      for (const peer of this.#peers) if (!peer.isBusy) this.#leave(peer);
      await sleep(LOOK_MS);
    }
    if (this.#busy > 0) this.#service.log.error('requests were left at the end', { requests: this.#busy });
  }

  /** Callers see the end at once, and turn to another instance; a partial frame may be completed. */
  #leave(peer) {
    if (peer.inbox.size === 0) peer.socket.destroySoon();
  }

  get #busy() {
    let busy = 0;
    for (const peer of this.#peers) if (peer.isBusy) busy++;
    return busy;
  }

  #accept(socket) {
    if (this.#peers.size >= MOST_PEERS) {
      this.#service.log.error('a connection was refused: there are too many', { limit: MOST_PEERS });
      return socket.destroy();
    }
    this.#service.counters.connections++;
    const peer = { socket, inbox: new Inbox(), isBusy: false };
    this.#peers.add(peer);
    socket.on('data', (chunk) => {
      peer.inbox.push(chunk);
      // One request at a time; more of them wait in the kernel, which makes the caller wait.
      if (peer.isBusy) socket.pause();
      else this.#advance(peer);
    });
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#peers.delete(peer));
  }

  /** Begins the next request of a connection, if it is there. */
  #advance(peer) {
    try {
      const body = peer.inbox.takeFrame();
      if (body) this.#begin(new Exchange(peer, body, this.#methods));
    } catch (error) {
      this.#close(peer, error);
    }
  }

  #close(peer, error) {
    if (!(error instanceof BadFrame)) this.#service.log.error('a connection was closed', { error: error.message });
    this.#service.counters.bad_frames++;
    peer.isBusy = false;
    peer.socket.destroy();
  }

  #begin(exchange) {
    exchange.peer.isBusy = true;
    const { threads, queue } = this.#service.config;
    // The chassis' own methods take no time, and are answered however busy the service is.
    if (exchange.method < 0) return this.#process(exchange, new Context(Infinity));
    if (this.#atWork < threads) return this.#work(exchange);
    if (this.#waiting.length < queue) return this.#waiting.push(exchange);
    this.#service.counters.overloaded++;
    this.#refuse(exchange, Outcome.FAILED, `overloaded: ${queue} requests wait already`);
    this.#answer(exchange);
  }

  #work(exchange) {
    this.#atWork++;
    exchange.isAtWork = true;
    exchange.processorFrom = this.#processorTime.begin();
    exchange.stamps[1] = now();
    if (exchange.stamps[1] < exchange.deadline) return this.#process(exchange, new Context(exchange.deadline, exchange.trace));
    this.#refuse(exchange, Outcome.DEADLINE, `deadline: ${exchange.givenMs} ms were spent before the request was begun`);
    this.#answer(exchange);
  }

  #process(exchange, context) {
    const bytes = new Bytes(() => {
      exchange.stamps[2] = reader.decoded;
      exchange.stamps[3] = bytes.begun;
      this.#judge(exchange);
      this.#answer(exchange);
    });
    exchange.bytes = bytes;
    const { name } = exchange.head;
    if (!(`process_${name}` in this.#Processor.prototype)) {
      // Here, since generated code leaves the type of the exception out.
      writeException(bytes, exchange.head, TApplicationExceptionType.UNKNOWN_METHOD, `\`${name}\` is not a method of this service`);
      return this.#answer(exchange);
    }
    const reader = new Reader(exchange.frame.message);
    try {
      new this.#Processor(this.#makeHandler(context)).process(reader, new Writer(bytes));
    } catch (error) {
      // The arguments cannot be decoded.
      this.#finish(exchange);
      this.#close(exchange.peer, new BadFrame(error.message));
    }
  }

  /** Finds the outcome in the bytes that generated code wrote, and reports it as the contract requires. */
  #judge(exchange) {
    const { message } = exchange.bytes;
    const { type, body } = parseHead(message);
    if (type === Type.REPLY) {
      if (message[body] === STRUCT && message.readInt16BE(body + 1) === 1) exchange.outcome = Outcome.REFUSED;
      return;
    }
    if (exchange.method < 0) return;
    const said = readException(message);
    if (said.startsWith('deadline: ')) return this.#refuse(exchange, Outcome.DEADLINE, said);
    if (said.startsWith('unavailable: ') || said.startsWith('overloaded: ')) return this.#refuse(exchange, Outcome.FAILED, said);
    this.#service.log.error('a handler failed', { method: exchange.head.name, error: said });
    this.#refuse(exchange, Outcome.FAILED, `internal: ${said}`);
  }

  #refuse(exchange, outcome, what) {
    exchange.outcome = outcome;
    exchange.bytes ??= new Bytes();
    writeException(exchange.bytes, exchange.head, TApplicationExceptionType.INTERNAL_ERROR, what);
  }

  #answer(exchange) {
    const { peer, frame, stamps } = exchange;
    stamps[4] = now();
    fillStamps(stamps);
    const cpu = this.#finish(exchange);
    const { message } = exchange.bytes;
    let before;
    if (frame.hasHeader) {
      const pairs = { s: `${stamps[1] - stamps[0]},${stamps[3] - stamps[2]},${cpu}` };
      before = headerBefore(frame.sequence, message.length, pairs);
    } else {
      before = lengthBefore(message.length);
    }
    peer.socket.cork();
    peer.socket.write(before);
    peer.socket.write(message);
    peer.socket.uncork();
    if (peer.socket.writableNeedDrain) {
      peer.socket.setTimeout(LONGEST_WRITE_MS);
      peer.socket.once('drain', () => peer.socket.setTimeout(0));
    }
    if (exchange.method >= 0) this.#record(exchange, cpu, before.length + message.length);
    peer.isBusy = false;
    if (this.#draining) this.#leave(peer);
    if (peer.socket.isPaused()) peer.socket.resume();
    // Not at once, so that a caller that sends many at a time cannot make the others wait.
    if (peer.inbox.size > 0) setImmediate(() => peer.isBusy || peer.socket.destroyed || this.#advance(peer));
  }

  /** Gives its place to the next one; returns its processor time. Units: ns. */
  #finish(exchange) {
    if (!exchange.isAtWork) return 0;
    exchange.isAtWork = false;
    this.#atWork--;
    const cpu = this.#processorTime.end(exchange.processorFrom);
    const next = this.#waiting.shift();
    if (next) setImmediate(() => this.#work(next));
    return cpu;
  }

  #record(exchange, cpu, bytesOut) {
    const { stamps, outcome, trace } = exchange;
    const { counters } = this.#service;
    stamps[5] = now();
    counters.requests++;
    if (outcome === Outcome.REFUSED) counters.refused++;
    if (outcome === Outcome.FAILED) counters.errors++;
    if (outcome === Outcome.DEADLINE) counters.deadline++;
    counters.queue_ns += stamps[1] - stamps[0];
    counters.application_ns += stamps[3] - stamps[2];
    counters.cpu_ns += cpu;
    if (!trace?.sampled) return;
    this.#service.spans.add({
      kind: Kind.SERVER,
      method: exchange.method,
      outcome,
      trace: trace.id,
      span: trace.span,
      parent: exchange.parent,
      stamps,
      cpu,
      bytesIn: exchange.bytesIn,
      bytesOut,
    });
  }
}

/** One request and its answer. Errors: `BadFrame`. */
class Exchange {
  outcome = Outcome.OK;
  isAtWork = false;

  constructor(peer, body, methods) {
    this.stamps = [now(), 0, 0, 0, 0, 0];
    this.peer = peer;
    this.bytesIn = 4 + body.length;
    this.frame = parseFrame(body);
    this.head = parseHead(this.frame.message);
    if (this.head.type !== Type.CALL) throw new BadFrame();
    // -1: of the chassis, or none.
    this.method = methods.indexOf(this.head.name);
    this.givenMs = parseDecimal(this.frame.pairs.d ?? '') ?? USUAL_DEADLINE_MS;
    this.deadline = this.stamps[0] + this.givenMs * NS_PER_MS;
    this.trace = parseTrace(this.frame.pairs.traceparent ?? '');
    if (!this.trace?.sampled) return;
    this.parent = this.trace.span;
    this.trace.span = newSpanId();
  }
}
