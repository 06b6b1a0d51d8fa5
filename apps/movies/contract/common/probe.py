"""What the common cases share: how they are named, and how they ask what `probe` names."""

from cases import ask, expect, steps_of
from values import make

# Names and functions, in the order of the sections.
CASES = []


class Skip(Exception):
    """Why the case does not apply."""


def case(name: str):
    """Keeps a function of a Subject that returns what is wrong, in lines."""
    def keep(function):
        CASES.append((name, function))
        return function
    return keep


def probe(s, connection=None, process=None, **more):
    """Asks the probe's steps; the answer to the last. `more`: of Connection.call, for the last."""
    process = process or s.main
    method, arguments = prepared(s, process)
    if connection:
        return connection.call(method, arguments, **more)
    with process.connect() as connection:
        return connection.call(method, arguments, **more)


def prepared(s, process):
    """The last step of the probe and its arguments, with those before it done for it alone."""
    s.env.fresh, s.env.steps = {}, []
    *before, last = steps_of(s.probe)
    for step in before:
        with process.connect() as connection:
            s.env.steps.append(ask(s, connection, step, sampled=None).value)
    return last["method"], arguments_of(s, last)


def arguments_of(s, step):
    return make(step.get("arguments", []), s.env)


def method_of(s) -> str:
    return steps_of(s.probe)[-1]["method"]


def is_good(s, answer) -> bool:
    """Whether it is what the probe's case expects, or at least of that kind: what it changed may have been changed before."""
    last = steps_of(s.probe)[-1]
    if "refused" in last or "exception" in last:
        return not expect(s, last, answer)
    return answer.kind == "result"


def good(s, answer, what="the probe") -> list:
    return [] if is_good(s, answer) else [f"{what}: expected what case `{s.probe['name']}` expects, got {answer}"]


def recovers(s) -> list:
    """After a fault: connections that broke may cost a request each, of which a pool has 8."""
    for _ in range(12):
        answer = probe(s)
        if is_good(s, answer):
            return []
    return [f"it does not recover: {answer}"]


def grown(s, before: dict, *names: str) -> dict:
    after = s.main.counters()
    return {name: after.get(name, 0) - before.get(name, 0) for name in names}


def flush(s) -> None:
    """Caches as before a case, so that the store is asked."""
    for domain in s.caches:
        for server in s.world.caches.servers(domain, s.shards):
            server.ask(b"flush_all\r\n")


def any_arguments(s, step):
    try:
        return arguments_of(s, step)
    except (IndexError, TypeError):
        return []
