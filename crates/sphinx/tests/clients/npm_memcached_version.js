// The version of the server as memcached of npm reads it. Usage: node npm_memcached_version.js HOST:PORT
const Memcached = require('memcached');

const client = new Memcached(process.argv[2], { timeout: 30000, retries: 0 });
client.version((error, servers) => {
  console.log(error ? `failed: ${error}` : `major version: ${servers[0].major === '1' ? 'one' : servers[0].major}`);
  client.end();
});
