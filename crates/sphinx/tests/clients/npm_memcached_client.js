// Exercises memcached of npm; prints one line for each step. Usage: node npm_memcached_client.js SERVER
const Memcached = require('memcached');

const client = new Memcached(process.argv[2], { timeout: 30000, retries: 0, maxValue: 1 << 20 });
const ask = (name, ...args) => new Promise((resolve, reject) =>
  client[name](...args, (error, value) => (error && !error.notStored ? reject(error) : resolve(value))));
const say = (what, value) => console.log(`${what}: ${value === undefined ? 'none' : value}`);
const stored = (value) => (value === true ? 'stored' : 'refused');

async function main() {
  say('set', stored(await ask('set', 'k', 'v1', 0)));
  say('get', await ask('get', 'k'));
  say('missing', await ask('get', 'none'));
  await ask('set', 'a', '1', 0);
  await ask('set', 'b', '2', 0);
  const found = await ask('getMulti', ['a', 'b', 'none']);
  say('multi', Object.keys(found).sort().map((key) => `${key}=${found[key]}`).join(' '));
  say('add', stored(await ask('add', 'k', 'x', 0)));
  say('replace', stored(await ask('replace', 'k', 'v2', 0)));
  const { cas } = await ask('gets', 'k');
  say('cas', stored(await ask('cas', 'k', 'v3', cas, 0)));
  say('stale cas', stored(await ask('cas', 'k', 'v4', cas, 0)));
  await ask('set', 'n', '10', 0);
  say('incr', await ask('incr', 'n', 5));
  say('decr', await ask('decr', 'n', 3));
  await ask('append', 'k', '>');
  await ask('prepend', 'k', '<');
  say('append', await ask('get', 'k'));
  const gone = (await ask('del', 'k')) && (await ask('get', 'k')) === undefined;
  say('delete', gone ? 'gone' : 'there');
  await ask('set', 't', 'x', 3600);
  say('touch', (await ask('touch', 't', 1)) ? 'kept' : 'lost');
  await ask('set', 'e', 'x', 1);
  const until = Date.now() + 30000;
  let left;
  do {
    await new Promise((resolve) => setTimeout(resolve, 50));
    left = Object.keys(await ask('getMulti', ['e', 't'])).length;
  } while (left > 0 && Date.now() < until);
  say('expiry', `${left} left`);
  await ask('set', 'large', 'v'.repeat(500000), 0);
  say('large', (await ask('get', 'large')).length);
  const binary = Buffer.concat([Buffer.from(Array.from(Array(256).keys())), Buffer.from('\r\nEND\r\n')]);
  await ask('set', 'binary', binary, 0);
  say('binary', binary.equals(await ask('get', 'binary')) ? 'same' : 'other');
  console.log('done');
  client.end();
}

main().catch((error) => {
  console.log(`failed: ${error}`);
  process.exit(1);
});
