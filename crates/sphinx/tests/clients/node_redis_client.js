// What redis of npm asks of a cache; prints one line for each step. Usage: node node_redis_client.js HOST PORT
const { createClient } = require('redis');

async function main() {
  const [host, port] = process.argv.slice(2);
  const client = createClient({ socket: { host, port: Number(port) }, name: 'test' });
  await client.connect();
  const say = (what, ...values) => console.log(`${what}:`, ...values);
  say('set', await client.set('k', 'v1'));
  say('get', await client.get('k'), await client.get('none'));
  await client.mSet({ a: '1', b: '2' });
  say('multi', await client.mGet(['a', 'b', 'none']));
  say('add', await client.set('k', 'x', { NX: true }), await client.set('k', 'v3', { XX: true, GET: true }));
  await client.set('n', '10');
  say('incr', await client.incrBy('n', 5), await client.decr('n'));
  // A second may end in between.
  say('expiry', await client.set('e', 'x', { EX: 100 }), [99, 100].includes(await client.ttl('e')), await client.persist('e'));
  say('delete', await client.del(['k', 'a', 'none']), await client.exists(['k', 'b']));
  const many = await Promise.all(Array.from({ length: 200 }, (_, number) => client.setEx(`p${number}`, 100, `${number}`)));
  say('pipeline', many.filter((reply) => reply === 'OK').length);
  let found = 0;
  for await (const key of client.scanIterator({ MATCH: 'p*', COUNT: 20 })) found += key.length > 0;
  say('scan', found);
  await client.set('large', 'v'.repeat(500000));
  say('large', (await client.get('large')).length);
  say('name', await client.clientGetName(), await client.ping());
  await client.incr('large').catch((error) => say('error', error.message));
  say('flush', await client.flushDb(), await client.exists("large"));
  await client.quit();
}
main();
