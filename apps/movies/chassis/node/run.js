import { setTimeout as sleep } from 'node:timers/promises';
import Chassis from '#idl/Chassis.cjs';
import { NS_PER_MS, now } from './clock.js';
import { Config } from './config.js';
import { lengthBefore, parseHead, Type } from './frame.js';
import { Log } from './log.js';
import { Pool } from './pool.js';
import { Bytes, Writer } from './protocol.js';
import { Server } from './server.js';
import { Service } from './service.js';

/** Source of these: the contract of the application. Units: ms. */
const PING_EACH = 50;
const GIVE_UP = 20_000;
/** A ping is answered however busy the service is, so within microseconds. Units: ms. */
const PING_TAKES = 1000;

/**
 * Serves until a signal or `drain`. `wire(service)` returns a function that makes the handler of one request from
 * its context.
 */
export async function run(name, Processor, wire) {
  const log = new Log(name, 0);
  try {
    if (process.argv.length !== 3) throw new Error(`usage: movies-${name} CONFIGFILE`);
    const config = Config.read(process.argv[2]);
    if (config.service !== name) throw new Error(`\`service\` is \`${config.service}\`, and this program is that of ${name}`);
    log.instance = config.instance;
    await serve(new Service(config, log), Processor, wire);
    process.exit(0);
  } catch (error) {
    log.error(error.message);
    process.exit(1);
  }
}

async function serve(service, Processor, wire) {
  const { config } = service;
  const server = new Server(service, Processor, wire(service));
  const ending = new Promise((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
    service.onDrain = () => resolve();
  });
  await server.listen();
  const ready = awaitUpstreams(config).then(() => process.stdout.write(`ready ${config.service} ${config.listen.text}\n`));
  try {
    await Promise.race([ending, ready.then(() => ending)]);
    // The answer to `drain` goes out first.
    await new Promise(setImmediate);
    await server.end();
  } finally {
    service.spans.close();
  }
}

/** Waits until the upstreams that are needed answer. Errors: names the one that does not. */
async function awaitUpstreams(config) {
  const until = now() + GIVE_UP * NS_PER_MS;
  for (const [name, addresses] of config.upstreams) {
    if (config.optional.has(name)) continue;
    for (const address of addresses) await awaitPing(name, address, until);
  }
}

async function awaitPing(name, address, until) {
  for (;;) {
    try {
      return await ping(address);
    } catch (error) {
      if (now() >= until) {
        throw new Error(`upstream ${name} at ${address.text} did not answer a ping within ${GIVE_UP / 1000} s: ${error.message}`);
      }
    }
    await sleep(PING_EACH);
  }
}

async function ping(address) {
  const until = now() + PING_TAKES * NS_PER_MS;
  const bytes = new Bytes();
  new Chassis.Client(bytes, Writer).ping();
  const pool = new Pool(address);
  const parts = [lengthBefore(bytes.message.length), bytes.message];
  const body = await pool.use(until, (connection) => connection.exchange(parts, (inbox) => inbox.takeFrame(), until, {}));
  pool.close();
  if (parseHead(body).type !== Type.REPLY) throw new Error('it answered with an exception');
}
