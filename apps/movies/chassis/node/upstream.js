import { Breaker } from './breaker.js';
import { NS_PER_MS, now } from './clock.js';
import { newSpanId, parseTimes, traceText } from './context.js';
import { answeredBy, ConnectionLost, DeadlineSpent, Outcome, outcomeOf, Overloaded, Refused, Unavailable } from './failure.js';
import { BadFrame, headerBefore, parseFrame, parseHead, Type } from './frame.js';
import { Histogram } from './histogram.js';
import { shardOf } from './jump.js';
import { Pool } from './pool.js';
import { Bytes, Reader, readException, Writer } from './protocol.js';
import { row } from './registry.js';
import { Kind } from './span.js';

const takeFrame = (inbox) => inbox.takeFrame();

/** The calls of one method. */
class Edge {
  calls = 0;
  errors = 0;
  ns = 0;
  /** Of all calls: time seen here, and the callee's times from its answers. */
  wall = new Histogram();
  queue = new Histogram();
  application = new Histogram();
  cpu = new Histogram();

  /** `took`: queue, application and processor time, if the answer has them. Units: ns. */
  count(wall, took) {
    this.calls++;
    this.ns += wall;
    this.wall.add(wall);
    if (!took) return;
    this.queue.add(took[0]);
    this.application.add(took[1]);
    this.cpu.add(took[2]);
  }

  appendTo(all, name) {
    for (const key of ['calls', 'errors', 'ns']) all[`${name}.${key}`] = Math.round(this[key]);
    for (const key of ['wall', 'queue', 'application', 'cpu']) this[key].appendTo(all, `${name}.${key}`);
  }
}

/** A service that is called, with the generated class of its clients. */
export class Upstream {
  #service;
  #name;
  #row;
  #Client;
  #limit;
  #replicas;
  #edges = new Map();
  #turn = 0;
  /** Undefined for a service that is needed. */
  #breaker;
  #sequence = 0;

  constructor(service, name, Client) {
    this.#service = service;
    this.#name = name;
    this.#row = row(name);
    this.#Client = Client;
    this.#limit = service.config.limitOf(name);
    this.#replicas = service.config.upstream(name).map((address) => new Pool(address));
    if (service.config.optional.has(name)) this.#breaker = new Breaker();
    for (const method of this.#row.methods) this.#edges.set(method, new Edge());
  }

  appendTo(all) {
    this.#breaker?.appendTo(all, `breaker.${this.#name}`);
    for (const [method, edge] of this.#edges) {
      edge.appendTo(all, `edge.${this.#name}.${method}`);
    }
  }

  /** Calls a replica: the next one, or the key's. Errors: `Refused`, `DeadlineSpent`, `Unavailable`, `Overloaded`. */
  async call(context, method, args, { key } = {}) {
    const edge = this.#edges.get(method);
    const times = { called: now(), connected: 0, encoded: 0, sent: 0, answered: 0, in: 0, out: 0, took: undefined };
    const span = context.sampled ? newSpanId() : undefined;
    const admitted = this.#breaker ? this.#breaker.admits(times.called) : 'call';
    if (!admitted) {
      const failure = new Unavailable(`${this.#name}: it timed out repeatedly, and is not asked for a while`);
      this.#end(context, edge, method, span, times, failure);
      throw failure;
    }
    const asked = this.#ask(context.within(this.#limit), method, args, span);
    let failure, isLost;
    try {
      return await this.#attempt(method, asked, key, times);
    } catch (error) {
      isLost = error instanceof ConnectionLost;
      failure = this.#known(error);
      throw failure;
    } finally {
      const isSpent = failure instanceof DeadlineSpent;
      // What happens before the question is sent, such as a wait for a free connection, is not the callee's, but that it refuses one is.
      if (times.sent || (isLost && !isSpent)) this.#breaker?.ended(isSpent, admitted, now());
      this.#end(context, edge, method, span, times, failure);
    }
  }

  /** The request: generated code's message, and its reader of the answer. */
  #ask(context, method, args, span) {
    const bytes = new Bytes();
    const client = new this.#Client(bytes, Writer);
    const sequence = (this.#sequence = (this.#sequence + 1) % 0x7fffffff);
    client._seqid = sequence - 1; // It counts before it sends.
    const answered = client[method](...args);
    // It may stay without an answer; the error is then known already.
    answered.catch(() => {});
    return { context, client, sequence, answered, span, message: bytes.message };
  }

  #known(error) {
    if ([Refused, DeadlineSpent, Unavailable, Overloaded].some((known) => error instanceof known)) return error;
    if (error instanceof BadFrame) this.#service.counters.bad_frames++;
    return new Unavailable(`${this.#name}: ${error.message}`);
  }

  async #attempt(method, asked, key, times) {
    const { context, message, sequence } = asked;
    if (context.deadline <= now()) throw new DeadlineSpent(`nothing is left to call ${this.#name}`);
    const body = await this.#pick(key).use(context.deadline, (connection) => {
      times.connected = now();
      // At least 1: less than a millisecond is more than nothing.
      const pairs = { d: String(Math.max(1, Math.floor((context.deadline - times.connected) / NS_PER_MS))) };
      if (context.trace) pairs.traceparent = traceText({ ...context.trace, span: asked.span ?? context.trace.span });
      const before = headerBefore(sequence, message.length, pairs);
      times.encoded = now();
      times.out = before.length + message.length;
      return connection.exchange([before, message], takeFrame, context.deadline, times);
    });
    times.in = 4 + body.length;
    return this.#decode(method, asked, body, times);
  }

  #decode(method, { client, sequence, answered }, body, times) {
    const frame = parseFrame(body);
    const head = parseHead(frame.message);
    const isMine = frame.hasHeader && frame.sequence === sequence && head.sequence === sequence && head.name === method;
    if (!isMine) throw new Unavailable(`${this.#name}: an answer that is none to this request`);
    times.took = parseTimes(frame.pairs.s ?? '');
    if (head.type === Type.EXCEPTION) throw answeredBy(this.#name, readException(frame.message));
    if (head.type !== Type.REPLY) throw new BadFrame();
    const reader = new Reader(frame.message);
    reader.readMessageBegin();
    client[`recv_${method}`](reader, head.type, sequence);
    return answered;
  }

  #pick(key) {
    const n = this.#replicas.length;
    return this.#replicas[key === undefined ? this.#turn++ % n : shardOf(String(key), n)];
  }

  #end(context, edge, method, span, times, failure) {
    const decoded = now();
    const outcome = outcomeOf(failure);
    edge.count(decoded - times.called, times.took);
    if (outcome === Outcome.FAILED || outcome === Outcome.DEADLINE) {
      edge.errors++;
      this.#service.log.error('a call failed', { callee: this.#name, method, error: failure.message });
    }
    if (!span) return;
    this.#service.spans.add({
      kind: Kind.CLIENT,
      peer: this.#row.id,
      method: this.#row.methods.indexOf(method),
      outcome,
      trace: context.trace.id,
      span,
      parent: context.trace.span,
      stamps: [times.called, times.connected, times.encoded, times.sent, times.answered, decoded],
      bytesIn: times.in,
      bytesOut: times.out,
    });
  }
}
