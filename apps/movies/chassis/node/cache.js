import { shardOf } from './jump.js';
import { Pool } from './pool.js';
import { row } from './registry.js';
import { Method, timed } from './storetimes.js';

/** Far more than a cache takes that works, 1 ms, and little of a request's time. */
const LONGEST_MS = 50;
/** The longest line of an answer has a key of at most 250 bytes and three numbers. Source: memcached's doc/protocol.txt. */
const LONGEST_LINE = 512;
/** memcached's default limit of a value. */
const LONGEST_VALUE = 1024 * 1024;

/**
 * The memcached of a domain, in shards. That it fails is counted, and is a miss.
 *
 * It has its own client, of the two commands that are needed: the one on npm (memcached 2.2.2, of 2016) knows neither a
 * request's deadline nor the moments of its span, and chooses shards by another hash.
 */
export class Cache {
  #service;
  #id;
  #shards;

  constructor(service, domain) {
    this.#service = service;
    this.#id = row(`${domain}-cache`).id;
    this.#shards = service.config.cache(domain).map((address) => new Pool(address));
  }

  /** The bytes; undefined for a miss. */
  async get(context, key) {
    if (!this.#shards.length) return undefined;
    const value = await this.#ask(context, Method.GET, key, [`get ${key}\r\n`], (inbox) => takeValue(inbox, key));
    if (value) this.#service.counters['cache.hits']++;
    else this.#service.counters['cache.misses']++;
    return value ?? undefined;
  }

  async set(context, key, value, seconds) {
    if (!this.#shards.length) return;
    const bytes = Buffer.from(value);
    const parts = [`set ${key} 0 ${seconds} ${bytes.length}\r\n`, bytes, '\r\n'];
    await this.#ask(context, Method.INSERT, key, parts, takeStored);
  }

  async #ask(context, method, key, parts, take) {
    const shard = this.#shards[shardOf(key, this.#shards.length)];
    const { deadline } = context.within(LONGEST_MS);
    try {
      return await timed(this.#service, context, this.#id, method, (times) =>
        shard.use(deadline, async (connection) => {
          times.out = parts.reduce((sum, part) => sum + part.length, 0);
          const { answer, size } = await connection.exchange(parts, take, deadline, times);
          times.in = size;
          return answer;
        }),
      );
    } catch (error) {
      this.#service.counters['cache.errors']++;
      this.#service.log.error('a cache failed', { address: shard.address.text, error: error.message });
      return undefined;
    }
  }
}

/** A line without its end; undefined while it is not complete. */
function firstLine(bytes) {
  const end = bytes.indexOf('\r\n');
  if (end > LONGEST_LINE || (end < 0 && bytes.length > LONGEST_LINE)) throw new Error('a line of an answer is too long');
  return end < 0 ? undefined : bytes.toString('latin1', 0, end);
}

/** Exported for its test. Errors: the bytes are not an answer to a get of this key. */
export function takeValue(inbox, key) {
  const bytes = inbox.peek();
  const line = firstLine(bytes);
  if (line === undefined) return undefined;
  if (line === 'END') return { answer: null, size: inbox.take(5).length };
  const [word, of, , digits, more] = line.split(' ');
  const size = /^[0-9]{1,8}$/.test(digits ?? '') ? Number(digits) : NaN;
  if (word !== 'VALUE' || of !== key || more !== undefined || !(size <= LONGEST_VALUE)) {
    throw new Error(`\`${line.slice(0, 80)}\` to a get`);
  }
  const from = line.length + 2;
  const all = from + size + '\r\nEND\r\n'.length;
  if (bytes.length < all) return undefined;
  if (bytes.toString('latin1', from + size, all) !== '\r\nEND\r\n') throw new Error('a value that does not end where it says');
  return { answer: inbox.take(all).subarray(from, from + size), size: all };
}

/** NOT_STORED: the cache has no room for it now. */
function takeStored(inbox) {
  const line = firstLine(inbox.peek());
  if (line === undefined) return undefined;
  if (line !== 'STORED' && line !== 'NOT_STORED') throw new Error(`\`${line.slice(0, 80)}\` to a set`);
  return { answer: true, size: inbox.take(line.length + 2).length };
}
