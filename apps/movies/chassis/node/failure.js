import types from '#idl/movies_types.cjs';

export const { Code, Refused } = types;

/** Nothing is left of the request's time. */
export class DeadlineSpent extends Error {
  constructor(what) {
    super(`deadline: ${what}`);
  }
}

/** A service or store that is needed did not answer. */
export class Unavailable extends Error {
  constructor(what) {
    super(`unavailable: ${what}`);
  }
}

/** A connection that is of no more use; the same question may be asked on another. */
export class ConnectionLost extends Error {}

/** The answer that a method did nothing. */
export function refuse(code, what) {
  return new Refused({ code, what });
}

/** As spans have it. Source: the contract of the application. */
export const Outcome = { OK: 0, REFUSED: 1, FAILED: 2, DEADLINE: 3 };

export function outcomeOf(error) {
  if (!error) return Outcome.OK;
  if (error instanceof Refused) return Outcome.REFUSED;
  return error instanceof DeadlineSpent ? Outcome.DEADLINE : Outcome.FAILED;
}

/** The error that a callee's application exception stands for. */
export function answeredBy(callee, what) {
  return what.startsWith('deadline: ') ? new DeadlineSpent(`${callee}: ${what}`) : new Unavailable(`${callee}: ${what}`);
}
