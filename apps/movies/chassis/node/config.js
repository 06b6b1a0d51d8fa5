import { readFileSync } from 'node:fs';

const NEEDED = ['service', 'id', 'instance', 'listen', 'threads', 'queue', 'spans', 'secret', 'data'];
const FAMILIES = /^(?:upstream\.[a-z-]+|cache\.[a-z]+|store\.[a-z]+|call\.[a-z-]+\.deadline_ms)$/;
const ADDRESS = /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+):([0-9]{1,5})$/;

/** Configuration of a service: the only argument of its program is a file of `key=value` lines. */
export class Config {
  #file;
  #values;

  constructor(file, values) {
    this.#file = file;
    this.#values = values;
    const missing = NEEDED.find((key) => !values.has(key));
    if (missing) throw new Error(`${file}: \`${missing}\` is missing`);
    this.service = values.get('service');
    this.id = this.#number('id', 0, 0xffff);
    this.instance = this.#number('instance', 0, 0xffff);
    this.listen = this.#address('listen', values.get('listen'));
    this.threads = this.#number('threads', 1, 1024);
    this.queue = this.#number('queue', 1, 65535);
    this.spans = values.get('spans');
    if (!/^([0-9a-f]{64})?$/.test(values.get('secret'))) {
      // The value itself does not go into a log.
      throw new Error(`${file}: \`secret\` takes 64 hex digits or nothing`);
    }
    this.optional = new Set(split(values.get('optional') ?? ''));
    this.upstreams = new Map();
    for (const key of values.keys()) {
      const [family, name] = key.split('.');
      if (family === 'upstream') this.upstreams.set(name, this.#addresses(key));
      if (family === 'cache') this.#addresses(key);
      if (family === 'store') this.#texts(key);
      if (family === 'call') this.limitOf(name);
    }
  }

  static read(file) {
    return Config.parse(readFileSync(file, 'utf8'), file);
  }

  /** Errors name the file and the key. */
  static parse(text, file) {
    const values = new Map();
    const seen = new Set();
    for (const [at, line] of text.split('\n').map((line) => line.trim()).entries()) {
      if (line === '' || line.startsWith('#')) continue;
      const place = `${file}:${at + 1}`;
      const equals = line.indexOf('=');
      if (equals < 0) throw new Error(`${place}: \`${line}\` is not key=value`);
      const key = line.slice(0, equals).trim();
      if (!NEEDED.includes(key) && key !== 'optional' && !FAMILIES.test(key)) {
        throw new Error(`${place}: \`${key}\` is not a key`);
      }
      if (seen.has(key)) throw new Error(`${place}: \`${key}\` is there twice`);
      seen.add(key);
      const value = line.slice(equals + 1).trim();
      // An empty one that names a service or a domain is as if it were not there.
      if (value !== '' || !FAMILIES.test(key)) values.set(key, value);
    }
    return new Config(file, values);
  }

  /** The replicas of a service that is called. */
  upstream(name) {
    return this.#addresses(`upstream.${name}`);
  }

  /** The shards of a domain's cache; none where there is none. */
  cache(domain) {
    return this.#addresses(`cache.${domain}`);
  }

  /** The shards of a domain's database: addresses that the driver understands. */
  store(domain) {
    return this.#texts(`store.${domain}`);
  }

  /** Configured limit of a call. Units: ms; undefined if none. */
  limitOf(callee) {
    const key = `call.${callee}.deadline_ms`;
    return this.#values.has(key) ? this.#number(key, 1, 600_000) : undefined;
  }

  #addresses(key) {
    if (key.startsWith('cache.') && this.#values.get(key) === 'none') return [];
    return this.#texts(key).map((one) => this.#address(key, one));
  }

  #texts(key) {
    const value = this.#values.get(key);
    if (value === undefined) throw new Error(`${this.#file}: \`${key}\` is missing`);
    const all = split(value);
    if (all.length === 0) throw new Error(`${this.#file}: \`${key}\` takes at least one address`);
    return all;
  }

  #number(key, least, most) {
    const given = this.#values.get(key);
    const number = /^[0-9]{1,9}$/.test(given) ? Number(given) : NaN;
    if (!(number >= least && number <= most)) {
      throw new Error(`${this.#file}: \`${key}\` is \`${given}\`, and takes ${least} to ${most}`);
    }
    return number;
  }

  #address(key, given) {
    const [, host, port] = ADDRESS.exec(given) ?? [];
    if (!(port >= 1 && port <= 65535)) throw new Error(`${this.#file}: \`${key}\` has \`${given}\`, and takes HOST:PORT`);
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port), text: given };
  }
}

function split(text) {
  return text.split(',').map((part) => part.trim()).filter((part) => part !== '');
}
