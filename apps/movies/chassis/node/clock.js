/** CLOCK_MONOTONIC, as all spans of a machine have it. Units: ns. Exact for 104 days after the machine's start, then to 2 ns. */
export function now() {
  const [seconds, ns] = process.hrtime();
  return seconds * 1e9 + ns;
}

export const NS_PER_MS = 1e6;

/**
 * The processor time of requests. All of them share one thread, and their parts alternate, so the process' time is divided
 * equally among the requests under way: the shares of all add up to the time used.
 */
export class ProcessorTime {
  #underWay = 0;
  #share = 0;
  #last = 0;

  /** Returns the argument of `end`. */
  begin() {
    this.#advance();
    this.#underWay++;
    return this.#share;
  }

  /** Units: ns. */
  end(begun) {
    this.#advance();
    this.#underWay--;
    return Math.round(this.#share - begun);
  }

  #advance() {
    const { user, system } = process.cpuUsage();
    const used = (user + system) * 1000;
    if (this.#underWay > 0) this.#share += (used - this.#last) / this.#underWay;
    this.#last = used;
  }
}
