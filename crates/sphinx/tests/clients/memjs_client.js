// Exercises memjs, over the binary protocol; prints one line for each step. Usage: node memjs_client.js HOST:PORT [USER
// PASSWORD]
const memjs = require('memjs');

const [place, username, password] = process.argv.slice(2);
const quiet = { log() {} };
// Far more patience than a server needs.
const options = { retries: 0, timeout: 60, conntimeout: 60, logger: quiet, username, password };
const client = memjs.Client.create(place, options);
const say = (what, value) => console.log(`${what}: ${value}`);
const stored = (yes) => (yes ? 'stored' : 'refused');
const text = async (key) => {
  const { value } = await client.get(key);
  return value === null ? 'none' : value.toString('latin1');
};
const pause = () => new Promise((done) => setTimeout(done, 50));

async function main() {
  say('set', stored(await client.set('k', 'v1', {})));
  say('get', await text('k'));
  say('missing', await text('none'));
  say('add', stored(await client.add('k', 'x', {})));
  say('replace', stored(await client.replace('k', 'v3', {})));
  await client.set('n', '10', {});
  say('incr', (await client.increment('n', 5, {})).value);
  say('decr', (await client.decrement('n', 3, {})).value);
  say('made', (await client.increment('new', 1, { initial: 7 })).value);
  await client.append('k', '>');
  await client.prepend('k', '<');
  say('append', await text('k'));
  say('delete', (await client.delete('k')) && (await text('k')) === 'none' ? 'gone' : 'there');
  await client.set('t', 'x', { expires: 3600 });
  say('touch', (await client.touch('t', 1)) ? 'kept' : 'lost');
  await client.set('e', 'x', { expires: 1 });
  const until = Date.now() + 30000;
  while (((await text('e')) !== 'none' || (await text('t')) !== 'none') && Date.now() < until) await pause();
  say('expiry', `${[await text('e'), await text('t')].filter((value) => value !== 'none').length} left`);
  await client.set('large', Buffer.alloc(500000, 'v'), {});
  say('large', (await text('large')).length);
  const binary = Buffer.concat([Buffer.from(Array.from({ length: 256 }, (_, i) => i)), Buffer.from('\r\nEND\r\n')]);
  await client.set('binary', binary, {});
  say('binary', (await client.get('binary')).value.equals(binary) ? 'same' : 'other');
  const stats = await new Promise((done) => client.stats((error, server, stats) => done(stats)));
  say('stats', Number(stats.curr_items) > 0 ? 'there' : 'missing');
  console.log('done');
}

main().catch((error) => console.log(`failed: ${error.message}`)).finally(() => client.close());
