import { Cache } from './cache.js';
import { now } from './clock.js';
import { Log } from './log.js';
import { Spans } from './spans.js';
import { Store } from './store.js';
import { Upstream } from './upstream.js';

/** The context of handlers: configuration, upstreams and stores. */
export class Service {
  #upstreams = [];
  /** Called when the service begins to drain. */
  onDrain = () => {};

  counters = {
    requests: 0,
    errors: 0,
    refused: 0,
    deadline: 0,
    overloaded: 0,
    degraded: 0,
    retries: 0,
    bad_frames: 0,
    connections: 0,
    queue_ns: 0,
    application_ns: 0,
    cpu_ns: 0,
    'cache.hits': 0,
    'cache.misses': 0,
    'cache.errors': 0,
  };

  constructor(config, log = new Log(config.service, config.instance)) {
    this.config = config;
    this.log = log;
    this.spans = new Spans(config, log);
  }

  upstream(name, Client) {
    const upstream = new Upstream(this, name, Client);
    this.#upstreams.push(upstream);
    return upstream;
  }

  cache(domain) {
    return new Cache(this, domain);
  }

  store(domain) {
    return new Store(this, domain);
  }

  allCounters() {
    const all = { ...this.counters, spans: this.spans.count };
    for (const upstream of this.#upstreams) upstream.appendTo(all);
    return all;
  }
}

/** Methods that every service has; handlers extend it. Each request has its own, with its context. */
export class Base {
  constructor(service, context) {
    this.service = service;
    this.context = context;
  }

  async ping() {
    return now();
  }

  async counters() {
    return this.service.allCounters();
  }

  async drain() {
    this.service.onDrain();
  }
}
