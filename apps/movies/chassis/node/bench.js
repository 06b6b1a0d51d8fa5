/**
 * What a request costs a server, by how it is asked: `node OUT/node/chassis/node/bench.js [CALLS]`.
 *
 * The question comes over a loopback connection from this process, so that each figure has the same costs of a caller and of
 * the kernel; the differences are those of the header and of the span. Rounds of all kinds alternate, and medians are shown,
 * so that what else runs on the machine meets all kinds alike.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Videos from '#idl/Videos.cjs';
import { Config } from './config.js';
import { headerBefore, lengthBefore } from './frame.js';
import { Inbox } from './inbox.js';
import { Bytes, Writer } from './protocol.js';
import { Server } from './server.js';
import { Base, Service } from './service.js';

const CALLS = Number(process.argv[2] ?? 5000);
const ROUNDS = 9;

class Nothing extends Base {
  async read(movie) {
    return { movie, clip: '', seconds: 0, cents: 0, renditions: [], write: (writer) => writer.writeFieldStop() };
  }
}

const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const lines = ['service=videos', 'id=12', 'instance=0', 'listen=127.0.0.1:1', 'threads=8', 'queue=64', 'secret=', 'data='];
const config = Config.parse([...lines, `spans=${join(folder, 'spans')}`].join('\n'), 'bench');
config.listen = { host: '127.0.0.1', port: 0, text: '127.0.0.1:0' };
const service = new Service(config);
const server = new Server(service, Videos.Processor, (context) => new Nothing(service, context));
const { port } = await server.listen();

const bytes = new Bytes();
new Videos.Client(bytes, Writer).read(1);
const { message } = bytes;
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0';
const header = (flag) => Buffer.concat([headerBefore(1, message.length, { traceparent: traceparent + flag, d: '1000' }), message]);
const kinds = {
  plain: Buffer.concat([lengthBefore(message.length), message]),
  header: header('0'),
  traced: header('1'),
};

function ask(question, calls) {
  return new Promise((resolve, reject) => {
    const inbox = new Inbox();
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(question));
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      inbox.push(chunk);
      if (!inbox.takeFrame()) return;
      if (--calls > 0) return socket.write(question);
      socket.end();
      resolve();
    });
  });
}

const costs = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]));
for (let round = 0; round <= ROUNDS; round++) {
  for (const [kind, question] of Object.entries(kinds)) {
    const before = process.cpuUsage();
    await ask(question, CALLS);
    const { user, system } = process.cpuUsage(before);
    if (round > 0) costs[kind].push((user + system) / CALLS); // The first round is compiled.
  }
}
for (const [kind, all] of Object.entries(costs)) {
  all.sort((a, b) => a - b);
  const [least, median, most] = [all[0], all[ROUNDS >> 1], all[ROUNDS - 1]].map((us) => us.toFixed(1));
  console.log(`${kind.padEnd(7)} ${median} µs of processor time a call (${least} to ${most})`);
}
await server.end();
service.close();
rmSync(folder, { recursive: true });
