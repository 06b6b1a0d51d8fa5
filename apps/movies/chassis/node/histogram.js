/** Units: ns; 18 minutes, and longer durations count as that. */
const MOST = 2 ** 40;
/** 8 for each power of two, 12.5 % wide each, and one for each of the numbers below 8. */
const BUCKETS = 8 * (40 - 2) + 1;
const WORD = 2 ** 32;

/** The place of a duration. Units: ns. */
export function bucketOf(ns) {
  if (ns < 8) return Math.floor(Math.max(ns, 0));
  const most = Math.min(ns, MOST);
  const e = most < WORD ? 31 - Math.clz32(most) : 63 - Math.clz32(most / WORD);
  return 8 * (e - 2) + (Math.floor(most / 2 ** (e - 3)) & 7);
}

/** How often which duration was, since the start. */
export class Histogram {
  #counts = new Float64Array(BUCKETS);

  add(ns) {
    this.#counts[bucketOf(ns)]++;
  }

  /** Adds the buckets that are not empty, by name. */
  appendTo(all, name) {
    for (let bucket = 0; bucket < BUCKETS; bucket++) if (this.#counts[bucket] > 0) all[`${name}.${bucket}`] = this.#counts[bucket];
  }
}
