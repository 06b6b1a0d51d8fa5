const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = (1n << 64n) - 1n;

/** Source: the FNV non-cryptographic hash algorithm, draft-eastlake-fnv. */
export function fnv1a64(bytes) {
  let hash = OFFSET;
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * PRIME) & MASK;
  return hash;
}

/** Lamping and Veach's jump consistent hash (arXiv:1406.2294): of n shards 1/n of the keys move to one more. */
export function jump(key, n) {
  let at = -1;
  let next = 0;
  while (next < n) {
    at = next;
    key = (key * 2862933555777941757n + 1n) & MASK;
    next = Math.floor((at + 1) * (2 ** 31 / (Number(key >> 33n) + 1)));
  }
  return at;
}

/** The place of a key among n shards. */
export function shardOf(key, n) {
  return n === 1 ? 0 : jump(fnv1a64(Buffer.from(key)), n);
}
