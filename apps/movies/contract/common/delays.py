"""Where the time of a request went: a delay that is planted shows in that part of its spans, and in no other."""

import threading
import time

import children
import records
import wire
from common.probe import case, flush, good, method_of, prepared, probe, Skip
from together import together

# The planted delay, and the part of it that another figure may show. Units: s, ns.
DELAY = 0.005
NS = int(DELAY * 1e9)
MUCH = NS // 2
# A machine that is busy plants delays of its own, in any part, but not always in the same: each part may be right in another try.
TRIES = 20
CONNECTIONS = 8
# Longest wait for any event. Units: s.
PATIENCE = 5.0


def parts(span) -> list:
    """From a to b, b to c and so on."""
    return [later - earlier for earlier, later in zip(span.stamps, span.stamps[1:])]


def spans_of(s, process, traces: set) -> list:
    """When all server spans of these traces have been written."""
    def look():
        spans, _ = records.read(process.folder / "spans", s.entry["id"], 0)
        mine = [span for span in spans if span.trace in traces]
        return mine if sum(span.kind == records.SERVER for span in mine) >= len(traces) else []
    return children.until(look, PATIENCE, 0.05)


def attributed(once) -> list:
    """What is wrong: `once` gives, by name, durations that have the delay, and durations that have no share of it."""
    most, least = {}, {}
    for _ in range(TRIES):
        having, others = once()
        for name, ns in having.items():
            most[name] = max(most.get(name, 0), ns)
        for name, ns in others.items():
            least[name] = min(least.get(name, ns), ns)
        wrong = [f"{name}: at most {ns} ns in {TRIES} tries; {NS} were planted there" for name, ns in most.items() if ns < NS]
        wrong += [f"{name}: at least {ns} ns in {TRIES} tries, of {NS} that were planted elsewhere" for name, ns in least.items() if ns >= MUCH]
        if not wrong:
            return [] if most else ["there is no span that could have it"]
    return wrong


def by_part(name: str, span, place: int) -> tuple:
    """For `attributed`: the delay is in the part of a span at this place, and others have no share of it."""
    took = {f"{name}, {letters}": ns for letters, ns in zip(("a-b", "b-c", "c-d", "d-e", "e-f"), parts(span))}
    having = list(took)[place]
    return {having: took.pop(having)}, took


def callee_delay(s, service: str, spans: list) -> tuple:
    """A service that is called took longer: its client span waits for the answer, and no other does."""
    peer, having, others, numbers = s.world.registry[service]["id"], {}, {}, {}
    for span in sorted((span for span in spans if span.kind == records.CLIENT), key=lambda span: span.stamps[0]):
        key = span.peer, span.method
        numbers[key] = numbers.get(key, 0) + 1
        name = f"call {numbers[key]} of method {span.method} of {span.peer}"
        if span.peer == peer:
            one, more = by_part(name, span, 3)
            having, others = having | one, others | more
        else:
            others[f"{name}, d-e"] = parts(span)[3]
    for span in spans:
        if span.kind == records.SERVER:
            queue, _, application, *_ = parts(span)
            having["the server's application, c-d"], others["the server's queue, a-b"] = application, queue
    return having, others


def callees(s, ask) -> list:
    """Services and methods that the probe calls."""
    seen = len(s.fakes.seen())
    ask()
    return sorted({(call.service, call.method) for call in s.fakes.seen()[seen:]})


def check_callees(s, ask) -> list:
    called, wrong = callees(s, ask), []
    if not called:
        raise Skip("the probe calls no services")
    for service, method in called:
        def once():
            s.fakes.delays[service] = DELAY
            try:
                answer = ask()
            finally:
                s.fakes.delays.pop(service)
            return callee_delay(s, service, spans_of(s, s.main, {answer.trace}))
        wrong += [f"{service}.{method} is slow: {line}" for line in attributed(once)]
    return wrong


@case("shows that a service which it calls is slow in the wait for its answer")
def _(s):
    if not s.upstreams:
        raise Skip("it calls no services")

    def ask():
        answer = probe(s, sampled=True)
        s.keep_traces([(answer, method_of(s))])
        return answer
    return check_callees(s, ask)


@case("shows that its store is slow in the wait for its answer")
def _(s):
    if not s.stores:
        raise Skip("it has no store")

    def once():
        flush(s)
        locks, answers = [s.world.postgres.lock(domain) for domain in s.stores], []
        asking = threading.Thread(target=lambda: answers.append(probe(s, sampled=True)))
        try:
            asking.start()
            children.until(lambda: answers or any(s.world.postgres.waits(domain) for domain in s.stores), PATIENCE, 0.001)
            is_asked = not answers
            time.sleep(DELAY)
        finally:
            for lock in locks:
                lock.close()
            asking.join()
        if not answers:
            raise wire.Closed
        s.keep_traces([(answers[0], method_of(s))])
        if not is_asked:
            raise Skip("the probe asks no store")
        stores = [span for span in spans_of(s, s.main, {answers[0].trace}) if span.kind == records.STORE]
        return by_part("the store that took longest", max(stores, key=lambda span: span.stamps[5] - span.stamps[0]), 3) if stores else ({}, {})
    return attributed(once)


@case("shows that its workers were busy in the queue")
def _(s):
    if s.name == "user-auth":
        raise Skip("its workers are processes that take connections: what waits are these, in the kernel")
    process = s.start(threads=1)
    try:
        return _queue(s, process)
    finally:
        process.close()


def _queue(s, process) -> list:
    number, service = 4, None
    if s.upstreams:
        service = (callees(s, lambda: probe(s, process=process)) or [(None, None)])[0][0]
    asked = [(process.connect(), *prepared(s, process)) for _ in range(number)]
    if service:
        s.fakes.delays[service] = DELAY
    try:
        with process.stopped():
            sent = [connection.send(method, arguments, sampled=True) for connection, method, arguments in asked]
        answers = [connection.receive(one) for (connection, *_), one in zip(asked, sent)]
    finally:
        s.fakes.delays.clear()
        for connection, *_ in asked:
            connection.socket.close()
    wrong = [line for answer in answers for line in good(s, answer)]
    spans = [span for span in spans_of(s, process, {answer.trace for answer in answers}) if span.kind == records.SERVER]
    spans.sort(key=lambda span: span.stamps[1])
    for before, after in zip(spans, spans[1:]):
        if after.stamps[1] < before.stamps[3]:
            wrong.append(f"a request was begun {before.stamps[3] - after.stamps[1]} ns before the handler of the one before had returned")
    least = NS if service else min((span.stamps[3] - span.stamps[1] for span in spans), default=0)
    longest = max((parts(span)[0] for span in spans), default=0)
    if longest < least:
        wrong.append(f"of {number} requests at once with threads=1 none waited for {least} ns, but {longest} ns at most")
    return wrong


@case("shows that all connections were taken in the wait for one")
def _(s):
    if not s.upstreams:
        raise Skip("it calls no services")
    process = s.start(threads=2 * CONNECTIONS)
    try:
        if not callees(s, lambda: probe(s, process=process)):
            raise Skip("the probe calls no services")
        return attributed(lambda: _taken(s, process))
    finally:
        process.close()


def _taken(s, process) -> tuple:
    more = 2
    asked = [prepared(s, process) for _ in range(CONNECTIONS + more)]
    seen = len(s.fakes.seen())

    def held() -> bool:
        counts = {}
        for call in s.fakes.seen()[seen:]:
            counts[call.service] = counts.get(call.service, 0) + 1
        return max(counts.values(), default=0) >= CONNECTIONS

    def let_go():
        children.until(held, PATIENCE, 0.001)
        # Time for the excess calls to reach the pool and wait there.
        time.sleep(4 * DELAY)
        s.fakes.gate.set()

    def one(place):
        with process.connect() as connection:
            return connection.call(*asked[place], deadline_ms=10000, sampled=True)

    s.fakes.gate.clear()
    letting = threading.Thread(target=let_go)
    letting.start()
    try:
        answers = together(len(asked), one)
    finally:
        s.fakes.gate.set()
        letting.join()
    bad = [line for answer in answers for line in good(s, answer)]
    if bad:
        raise wire.Malformed(bad[0])
    clients = [span for span in spans_of(s, process, {answer.trace for answer in answers}) if span.kind == records.CLIENT]
    clients.sort(key=lambda span: parts(span)[0], reverse=True)
    if len(clients) <= more:
        return {}, {}
    return ({f"of calls beyond those that hold the connections, the wait of number {place + 1}": parts(clients[place])[0] for place in range(more)},
            {"the wait of one that holds a connection": parts(clients[more])[0], "the wait for the answer of one that waited": parts(clients[0])[3]})
