import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Breaker } from '../breaker.js';

const S = 1e9;

test('a breaker opens after time-outs in a row, tries after a back-off, and closes with an answer', () => {
  const breaker = new Breaker();
  for (let n = 0; n < 4; n++) breaker.ended(true, 'call', 0);
  breaker.ended(false, 'call', 0);
  for (let n = 0; n < 5; n++) {
    assert.equal(breaker.admits(0), 'call');
    breaker.ended(true, 'call', 0);
  }
  assert.equal(breaker.admits(0), undefined);
  // One that began before.
  breaker.ended(true, 'call', 100 * S);
  assert.equal(breaker.admits(S), 'try');
  assert.equal(breaker.admits(S), undefined);
  breaker.ended(true, 'try', S);
  assert.equal(breaker.admits(2 * S), undefined);
  assert.equal(breaker.admits(3 * S), 'try');
  breaker.ended(false, 'try', 3 * S);
  assert.equal(breaker.admits(3 * S), 'call');
  const all = {};
  breaker.appendTo(all, 'breaker.ads');
  assert.deepEqual(all, { 'breaker.ads.open': 0, 'breaker.ads.opened': 1, 'breaker.ads.refused': 3 });
});

test('the back-off of a breaker has a bound', () => {
  const breaker = new Breaker();
  for (let n = 0; n < 5; n++) breaker.ended(true, 'call', 0);
  let now = 0;
  for (let n = 0; n < 20; n++) {
    now += 30 * S;
    assert.equal(breaker.admits(now), 'try');
    breaker.ended(true, 'try', now);
  }
});
