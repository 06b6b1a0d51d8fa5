// Prints the names that memcached of npm parses from each group of statistics, one a line. Usage: node
// npm_memcached_admin.js HOST:PORT
const Memcached = require('memcached');

const server = process.argv[2];
const client = new Memcached(server, { timeout: 30000, retries: 0 });
const ask = (name, ...args) => new Promise((resolve, reject) =>
  client[name](...args, (error, value) => (error ? reject(error) : resolve(value))));

async function main() {
  for (const group of ['stats', 'settings']) {
    const [names] = await ask(group);
    for (const name of Object.keys(names)) {
      if (name !== 'server') console.log(name);
    }
  }
  for (const group of ['slabs', 'items']) {
    const [classes] = await ask(group);
    for (const name of Object.keys(classes[1] || {})) {
      console.log(`${group}/1/${name}`);
    }
  }
  // Several times, since it drops a reply that arrives in parts.
  for (let i = 0; i < 10; i++) {
    const items = await ask('cachedump', server, 1, 100);
    for (const { key, b } of [items].flat()) {
      console.log(`cachedump/${key}/${b}`);
    }
  }
  client.end();
}

main().catch((error) => {
  console.log(`failed: ${error}`);
  process.exit(1);
});
