import { now } from './clock.js';
import { newSpanId } from './context.js';
import { outcomeOf } from './failure.js';
import { Kind } from './span.js';

/** Store operations, as spans name them. Source: the contract of the application. */
export const Method = { GET: 0, GET_MANY: 1, INSERT: 2, UPDATE: 3, DELETE: 4 };

/** Times a request to a store or a cache, and writes its span. `ask` gets the object that records times and bytes. */
export async function timed(service, context, peer, method, ask) {
  const called = now();
  const times = { sent: 0, answered: 0, in: 0, out: 0, flags: 0 };
  let failure;
  try {
    return await ask(times);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    if (context.sampled) {
      service.spans.add({
        kind: Kind.STORE,
        peer,
        method,
        outcome: outcomeOf(failure),
        flags: times.flags,
        trace: context.trace.id,
        span: newSpanId(),
        parent: context.trace.span,
        stamps: [called, called, called, times.sent, times.answered, now()],
        bytesIn: times.in,
        bytesOut: times.out,
      });
    }
  }
}
