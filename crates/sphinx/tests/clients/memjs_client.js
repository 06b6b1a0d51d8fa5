// Asks for a key in the binary protocol, with far more patience than a server needs to refuse it.
// Usage: node memjs_client.js HOST:PORT
const memjs = require('memjs');

const quiet = { log() {} };
const client = memjs.Client.create(process.argv[2], { retries: 0, timeout: 300, conntimeout: 300, logger: quiet });
client.get('seed-a', (error, value) => {
  console.log(error ? `failed: ${error.message}` : `get: ${value}`);
  client.close();
});
