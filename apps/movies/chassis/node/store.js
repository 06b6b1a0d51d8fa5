import pg from 'pg';
import { now } from './clock.js';
import { USUAL_DEADLINE_MS } from './context.js';
import { DeadlineSpent, Unavailable } from './failure.js';
import { shardOf } from './jump.js';
import { msUntil } from './pool.js';
import { row } from './registry.js';
import { RETRIED } from './span.js';
import { Method, timed } from './storetimes.js';

/**
 * Who waits gives up when the request's time is spent, and closes the connection; PostgreSQL then ends the statement by the
 * first of these, and by the second in any case. Setting the time for each statement would cost a round trip.
 */
const SESSION = '-c client_connection_check_interval=100 -c statement_timeout=10000';
/** SQLSTATE. Source: PostgreSQL 15, appendix A. 57P: the server is shut down, or just started. */
const QUERY_CANCELED = '57014';
const SHUT_DOWN = '57P';

/** The database of a domain, in shards: documents by key. */
export class Store {
  #service;
  #name;
  #id;
  #shards;

  constructor(service, domain) {
    this.#service = service;
    this.#name = `${domain}-db`;
    this.#id = row(this.#name).id;
    this.#shards = service.config.store(domain).map((connectionString) => {
      // Without its limit of idle time (10 s), after which a question would pay for a new connection.
      // A connection that does not come about frees its place, as when the machine is gone.
      const pool = new pg.Pool({
        connectionString,
        max: service.config.threads,
        options: SESSION,
        idleTimeoutMillis: 0,
        connectionTimeoutMillis: USUAL_DEADLINE_MS,
      });
      // A connection's error reaches its query, if any; without these listeners it would end the program.
      pool.on('error', () => {});
      pool.on('connect', (client) => client.on('error', () => {}));
      return pool;
    });
  }

  /** A document; undefined if there is none. Errors: `DeadlineSpent`, `Unavailable`. */
  async get(context, table, id) {
    const query = { name: `get_${table}`, text: `SELECT doc FROM ${table} WHERE id = $1`, values: [id] };
    const { rows } = await this.#ask(context, Method.GET, id, query);
    return rows[0]?.doc;
  }

  #ask(context, method, key, query) {
    const shard = this.#shards[shardOf(key, this.#shards.length)];
    return timed(this.#service, context, this.#id, method, async (times) => {
      try {
        return await askOnce(shard, context, query, times).catch((error) => {
          if (!isLost(error) || context.deadline <= now()) throw error;
          // The database was restarted since; every statement is safe to repeat.
          Object.assign(times, { flags: RETRIED, answered: 0 });
          return askOnce(shard, context, query, times);
        });
      } catch (error) {
        throw this.#known(error);
      }
    });
  }

  #known(error) {
    if (error instanceof DeadlineSpent || error.code === QUERY_CANCELED) {
      return new DeadlineSpent(`${this.#name} did not answer in time`);
    }
    this.#service.log.error('a store failed', { store: this.#name, error: error.message });
    return new Unavailable(`${this.#name}: ${error.message}`);
  }
}

async function askOnce(shard, context, query, times) {
  const client = await within(context.deadline, shard.connect(), (late) => late.release());
  const { stream } = client.connection;
  const { bytesRead, bytesWritten } = stream;
  stream.prependOnceListener('data', () => (times.answered ||= now()));
  try {
    const answer = client.query(query);
    times.sent = now();
    const result = await within(context.deadline, answer);
    times.in = stream.bytesRead - bytesRead;
    times.out = stream.bytesWritten - bytesWritten;
    client.release();
    return result;
  } catch (error) {
    // Close: a late answer must not be taken for the next query's.
    client.release(true);
    throw error;
  }
}

/** The promise's result, or `DeadlineSpent`; then `onLate` gets a late result. */
function within(until, promise, onLate = () => {}) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(new DeadlineSpent('no answer in time'));
      promise.then(onLate, () => {});
    }, msUntil(until));
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Whether the same query may succeed on another connection: errors of the server itself have another kind of code. */
function isLost(error) {
  if (error instanceof DeadlineSpent) return false;
  const isOfServer = error instanceof pg.DatabaseError;
  return !isOfServer || (error.code ?? '').startsWith(SHUT_DOWN);
}
