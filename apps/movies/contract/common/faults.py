"""Faults of the services, the store and the cache behind it."""

from common.probe import case, flush, good, grown, method_of, probe, recovers, Skip

# How long after its request's deadline an answer may come. Ours: a busy machine of two cores. Units: ms.
BEYOND = 1500


def _called(s) -> list:
    """The services that the probe calls."""
    if not s.upstreams:
        raise Skip("it calls no services")
    seen = len(s.fakes.seen())
    probe(s)
    return sorted({(call.service, call.method) for call in s.fakes.seen()[seen:]})


def _fault(s, service: str, kind, value, deadline_ms=2000):
    """The answer to the probe, the calls seen and what counters grew, while a service has a fault."""
    before = s.main.counters()
    if kind == "dead":
        s.fakes.fall(service)
    else:
        s.fakes.faults[service] = (kind, value)
    try:
        answer = probe(s, deadline_ms=deadline_ms, sampled=True)
    finally:
        s.fakes.faults.pop(service, None)
        s.fakes.rise(service)
    calls = s.fakes.seen({answer.trace.hex()})
    s.traced.append((answer, method_of(s), calls))
    return answer, [call for call in calls if call.service == service], grown(s, before, "degraded", "retries", "errors")


def _judge(s, service: str, answer, grew, kinds) -> list:
    """An optional service degrades the answer; another refuses it, or leaves out a part."""
    if service in s.optional:
        wrong = good(s, answer, f"without {service}")
        return wrong if grew["degraded"] else [*wrong, f"{service}: the counter `degraded` did not grow"]
    fine = answer.kind == "result" or answer.begins(*kinds) or (answer.kind == "refused" and answer.value["code"] == "UNAVAILABLE")
    if not fine:
        return [f"{service}: expected a result, {' or '.join(kinds)}, or Refused UNAVAILABLE; got {answer}"]
    if answer.begins("unavailable: ") and service not in answer.value[1]:
        return [f"{service}: the refusal does not name it: {answer}"]
    return []


@case("answers while a service that it calls refuses")
def _(s):
    wrong = []
    for service, _ in _called(s):
        answer, calls, _ = _fault(s, service, "refused", "NOT_FOUND")
        if answer.kind not in ("result", "refused") and not answer.begins("unavailable: "):
            wrong.append(f"{service}: got {answer}")
        if len(calls) > 1:
            wrong.append(f"{service}: asked {len(calls)} times; a refusal is no reason to ask again")
    return wrong + recovers(s)


@case("answers while a service that it calls fails")
def _(s):
    wrong = []
    for service, _ in _called(s):
        answer, calls, grew = _fault(s, service, "exception", "internal: a fake fails")
        wrong += _judge(s, service, answer, grew, ("unavailable: ",))
        if len(calls) > 1:
            wrong.append(f"{service}: asked {len(calls)} times; only a broken connection is a reason to ask again")
    return wrong + recovers(s)


@case("hands on that a service which it calls is overloaded")
def _(s):
    wrong = []
    for service, _ in _called(s):
        answer, calls, grew = _fault(s, service, "exception", "overloaded: other: 64 requests wait already")
        wrong += _judge(s, service, answer, grew, ("overloaded: ",))
        if answer.kind == "exception" and answer.value[1] != f"overloaded: {service}: other: 64 requests wait already":
            wrong.append(f"{service}: got {answer}")
        if len(calls) > 1:
            wrong.append(f"{service}: asked {len(calls)} times; one that is overloaded is not helped by that")
    return wrong + recovers(s)


IDEMPOTENT = {"page", "like", "find", "titles", "pick", "check", "charge", "apply", "append", "store", "compose", "read", "readMany"}


@case("asks once more where the connection to a service breaks")
def _(s):
    wrong = []
    for service, method in _called(s):
        answer, calls, grew = _fault(s, service, "close", True)
        wrong += _judge(s, service, answer, grew, ("unavailable: ",))
        most = 2 if method in IDEMPOTENT else 1
        if len(calls) != most:
            wrong.append(f"{service}.{method}: asked {len(calls)} times, expected {most}")
        if grew["retries"] != most - 1:
            wrong.append(f"{service}.{method}: `retries` grew by {grew['retries']}, expected {most - 1}")
        wrong += recovers(s)
        # Calls refill the retry budget.
        for _ in range(12):
            probe(s)
    return wrong


@case("gives up at the deadline while a service that it calls hangs")
def _(s):
    wrong = []
    for service, _ in _called(s):
        answer, calls, grew = _fault(s, service, "hang", True, 400)
        took = (answer.read - answer.sent) / 1e6
        if took > 400 + BEYOND:
            wrong.append(f"{service}: answered after {took:.0f} ms, the deadline was 400 ms: {answer}")
        if len(calls) > 1:
            wrong.append(f"{service}: asked {len(calls)} times; a time-out is no reason to ask again")
        wrong += _judge(s, service, answer, grew, ("unavailable: ", "deadline: "))
        s.fakes.let_go()
    return wrong + recovers(s)


@case("answers while a service that it calls does not listen")
def _(s):
    wrong = []
    for service, _ in _called(s):
        answer, _, grew = _fault(s, service, "dead", True)
        took = (answer.read - answer.sent) / 1e6
        if took > 2000 + BEYOND:
            wrong.append(f"{service}: answered after {took:.0f} ms")
        wrong += _judge(s, service, answer, grew, ("unavailable: ", "deadline: "))
        if grew["retries"] > 1:
            wrong.append(f"{service}: `retries` grew by {grew['retries']}")
        wrong += recovers(s)
    return wrong


@case("gives up at the deadline while the store hangs")
def _(s):
    if not s.stores:
        raise Skip("it has no store")
    flush(s)
    locks = [s.world.postgres.lock(domain) for domain in s.stores]
    try:
        answer = probe(s, deadline_ms=400, sampled=True)
    finally:
        for lock in locks:
            lock.close()
    s.keep_traces([(answer, method_of(s))])
    took = (answer.read - answer.sent) / 1e6
    wrong = [f"answered after {took:.0f} ms, the deadline was 400 ms: {answer}"] if took > 400 + BEYOND else []
    if not (answer.begins("unavailable: ", "deadline: ") or answer.kind == "result" or answer.kind == "refused" and answer.value["code"] == "UNAVAILABLE"):
        wrong.append(f"expected unavailable or deadline, got {answer}")
    return wrong + recovers(s)


@case("connects to the store again when connections have ended")
def _(s):
    if not s.stores:
        raise Skip("it has no store")
    for domain in s.stores:
        s.world.postgres.disconnect(domain)
    flush(s)
    return recovers(s)


@case("answers without its cache")
def _(s):
    if not s.caches:
        raise Skip("it has no cache")
    servers = [server for domain in s.caches for server in s.world.caches.servers(domain, s.shards)]
    try:
        for server in servers:
            server.end()
        wrong = [line for _ in range(3) for line in good(s, probe(s), "without memcached")]
    finally:
        for server in servers:
            server.start()
    return wrong + recovers(s)


@case("writes spans that fit, whatever happened")
def _(s):
    return s.check_spans()
