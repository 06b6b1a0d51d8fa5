import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asVideo, parse } from '../document.js';

const doc = { movie: 1, title: 'Alien', clip: 'clip-3', seconds: 30, cents: 399, renditions: [{ height: 240, kbps: 300 }] };

test('the video of a document', () => {
  const { movie, clip, seconds, cents, renditions } = asVideo(parse(Buffer.from(JSON.stringify(doc))));
  assert.deepEqual([movie, clip, seconds, cents, { ...renditions[0] }], [1, 'clip-3', 30, 399, { height: 240, kbps: 300 }]);
  assert.equal(renditions.length, 1);
});

test('what is none', () => {
  const check = (change) => assert.equal(asVideo({ ...doc, ...change }), undefined, JSON.stringify(change));
  check({ clip: undefined });
  check({ clip: 3 });
  check({ cents: 'free' });
  check({ seconds: 1.5 });
  check({ renditions: {} });
  check({ renditions: [null] });
  check({ renditions: [{ height: 240 }] });
  for (const other of [undefined, null, 7, 'text', []]) assert.equal(asVideo(other), undefined);
  assert.equal(parse(Buffer.from('{"movie":')), undefined);
});
