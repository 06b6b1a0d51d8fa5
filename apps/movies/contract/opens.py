"""How the breaker of calls of an optional service opens and closes."""

import children

# Time-outs in a row that open it, and how long it may take to close it again: two back-offs of 1 s and 2 s, on a busy machine.
TIME_OUTS = 5
PATIENCE = 15.0
# Of a request whose callee hangs. Units: ms.
DEADLINE = 300


def opens(s, service: str, process, ask, is_right) -> list:
    """What is wrong while the service hangs and after. `ask` sends a request with a short time limit, and returns the answer."""
    counted = lambda: {name: process.counters().get(f"breaker.{service}.{name}", 0) for name in ("open", "opened", "refused")}
    calls = lambda: sum(call.service == service for call in s.fakes.seen())
    wrong = [] if counted() == {"open": 0, "opened": 0, "refused": 0} else [f"at first: {counted()}"]
    s.fakes.faults[service] = ("hang", True)
    try:
        for _ in range(TIME_OUTS):
            ask()
        if counted()["open"] != 1:
            return [*wrong, f"{TIME_OUTS} time-outs in a row do not open it: {counted()}"]
        seen = calls()
        took = min((answer.read - answer.sent) / 1e6 for answer in (ask(), ask()))
        if took > DEADLINE / 2:
            wrong.append(f"an open breaker waits {took:.0f} ms")
        # The first back-off may be over by then, and a call try it.
        if calls() > seen + 1 or counted()["refused"] < 1:
            wrong.append(f"{calls() - seen} calls through an open breaker: {counted()}")
    finally:
        s.fakes.faults.pop(service, None)
        s.fakes.let_go()
    if not children.until(lambda: is_right(ask()) and counted()["open"] == 0, PATIENCE, 0.1):
        wrong.append(f"it does not close though the service answers: {counted()}")
    return wrong
