/** Source of these: the contract of the application. Units: tenths of a retry. */
const A_RETRY = 10;
const MOST = 100;

/** Allows one retry in ten calls of an edge, so that a callee in trouble gets little more than its usual load. */
export class Budget {
  #tenths = MOST;

  earn() {
    this.#tenths = Math.min(this.#tenths + 1, MOST);
  }

  spend() {
    if (this.#tenths < A_RETRY) return false;
    this.#tenths -= A_RETRY;
    return true;
  }
}
