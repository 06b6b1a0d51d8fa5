import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Config } from '#chassis/config.js';

const good = `# a comment
service=plot
id=6
instance=1
listen=127.0.0.1:4000
threads=8
queue=64
spans=
secret=
data=
upstream.ads=127.0.0.1:1, 127.0.0.1:2
cache.movies=127.0.0.1:3
store.movies=postgresql://movies@/movies?host=/run/x&port=5432
call.ads.deadline_ms=20
optional=ads,movie-recommender
`;

test('a configuration', () => {
  const config = Config.parse(good, 'a.conf');
  assert.deepEqual([config.service, config.id, config.instance, config.threads, config.queue], ['plot', 6, 1, 8, 64]);
  assert.deepEqual(config.listen, { host: '127.0.0.1', port: 4000, text: '127.0.0.1:4000' });
  assert.deepEqual(config.upstream('ads').map(({ port }) => port), [1, 2]);
  assert.deepEqual(config.store('movies'), ['postgresql://movies@/movies?host=/run/x&port=5432']);
  assert.deepEqual([config.limitOf('ads'), config.limitOf('plot')], [20, undefined]);
  assert.deepEqual([...config.optional], ['ads', 'movie-recommender']);
  assert.throws(() => config.cache('users'), /`cache.users` is missing/);
});

test('an empty value is none', () => {
  const text = good.replace('cache.movies=127.0.0.1:3', 'cache.movies=').replace('deadline_ms=20', 'deadline_ms=');
  const config = Config.parse(`${text}upstream.plot=\noptional=\n`.replace('optional=ads,movie-recommender\n', ''), 'a.conf');
  assert.equal(config.limitOf('ads'), undefined);
  assert.equal(config.optional.size, 0);
  assert.ok(!config.upstreams.has('plot'));
  assert.throws(() => config.cache('movies'), /`cache.movies` is missing/);
});

test('errors of a configuration', () => {
  const check = (from, to, want) =>
    assert.throws(
      () => Config.parse(good.replace(from, to), 'a.conf'),
      (error) => error.message.startsWith('a.conf:') && error.message.includes(want),
      `${to}: ${want}`,
    );
  check('threads=8', '', '`threads` is missing');
  check('threads=8', 'threads=0', '`threads` is `0`, and takes 1 to 1024');
  check('threads=8', 'threads=many', '`threads` is `many`');
  check('threads=8', 'threads 8', '`threads 8` is not key=value');
  check('threads=8', 'threads=8\nthreads=8', '`threads` is there twice');
  check('data=', 'data=\ncolour=red', '`colour` is not a key');
  check('data=', 'data=\nupstream.=a:1', '`upstream.` is not a key');
  check('listen=127.0.0.1:4000', 'listen=4000', '`listen` has `4000`, and takes HOST:PORT');
  check('127.0.0.1:2', '127.0.0.1:70000', '`upstream.ads` has `127.0.0.1:70000`');
  check('cache.movies=127.0.0.1:3', 'cache.movies=,', '`cache.movies` takes at least one address');
  check('deadline_ms=20', 'deadline_ms=0', '`call.ads.deadline_ms` is `0`');
  check('secret=', 'secret=abc', '`secret` takes 64 hex digits or nothing');
});
