import types from '#idl/movies_types.cjs';

export const { Code, Refused } = types;

/** The request's time is used up. */
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

/** A service that is called, or one behind it, takes no more; it begins with that one's name. */
export class Overloaded extends Error {
  constructor(what) {
    super(`overloaded: ${what}`);
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
  if (what.startsWith('deadline: ')) return new DeadlineSpent(`${callee}: ${what}`);
  // The prefix tells the caller that a later try may succeed.
  if (what.startsWith('overloaded: ')) return new Overloaded(`${callee}: ${what.slice('overloaded: '.length)}`);
  return new Unavailable(`${callee}: ${what}`);
}
