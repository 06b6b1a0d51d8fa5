import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clean } from '../clean.js';

test('texts are cleaned', () => {
  const check = (given, want) => assert.equal(clean(given), want, JSON.stringify(given));
  check('Good.', 'Good.');
  check('  a \t b\r\n\nc\u00a0d\u2028e  ', 'a b c d e');
  check('a\u0000b\u0007c\u001bd\u007fe\u0085f', 'abcdef');
  check('a \u0001 b', 'a b');
  check('cafe\u0301', 'caf\u00e9');
  check('cafe\u0001\u0301', 'caf\u00e9');
  check('\u202eevil\u202c', 'evil');
  check('👩\u200d🚀', '👩\u200d🚀');
  check('\ufb01n', '\ufb01n');
  check(' \n\u0000 ', '');
  check('\u2000x', 'x');
});

test('what is cleaned stays as it is', () => {
  for (let round = 0; round < 2000; round++) {
    let text = '';
    for (let at = 0; at < 20; at++) text += String.fromCodePoint((round * 7919 + at * 104729) % 0x3100);
    assert.equal(clean(clean(text)), clean(text));
  }
});
