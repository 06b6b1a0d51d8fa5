"""Spans and counters."""

import socket
import struct
import time

import children
import records
import vectors
import wire
from cases import steps_of
from common.probe import case, flush, good, method_of, prepared, probe, Skip

# Longest wait for any event. Units: s.
PATIENCE = 5.0
# For a service to notice that a connection broke. Units: s.
NOTICED = 0.1


@case("writes a span for every sampled request and call")
def _(s):
    answers = [(probe(s, sampled=True), method_of(s)) for _ in range(3)]
    s.keep_traces(answers)
    wrong = [line for answer, _ in answers for line in good(s, answer)] + s.check_spans()
    spans, _ = records.read(s.main.folder / "spans", s.entry["id"], 0)
    mine = [span for span in spans if span.trace in {answer.trace for answer, _ in answers}]
    if s.stores and not s.upstreams and not any(span.kind == records.STORE for span in mine):
        stores = [span for span in spans if span.kind == records.STORE]
        wrong += [] if stores else ["there is not one span of kind store"]
    return wrong


@case("writes the span of a request whose caller breaks the connection")
def _(s):
    if not s.upstreams and not s.stores:
        raise Skip("nothing keeps it from answering")
    process, locks = s.start(), []
    try:
        method, arguments = prepared(s, process)
        seen = len(s.fakes.seen())
        if s.upstreams:
            s.fakes.gate.clear()
        else:
            flush(s)
            locks = [s.world.postgres.lock(domain) for domain in s.stores]
        connection = process.connect()
        _, (trace, _) = connection.send(method, arguments, sampled=True)
        if not children.until(lambda: len(s.fakes.seen()) > seen or any(s.world.postgres.waits(domain) for domain in s.stores), PATIENCE / 5):
            raise Skip("the probe asks nothing")
        # Closed so, the kernel says to the other side that it broke.
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.socket.close()
        time.sleep(NOTICED)
        s.fakes.gate.set()
        for lock in locks:
            lock.close()
        locks = []

        def look():
            spans, _ = records.read(process.folder / "spans", s.entry["id"], 0)
            return [span for span in spans if span.kind == records.SERVER and span.trace == trace]
        return [] if children.until(look, PATIENCE, 0.05) else ["there is no span of it"]
    finally:
        s.fakes.gate.set()
        for lock in locks:
            lock.close()
        process.close()


@case("writes no span for a request that is not sampled")
def _(s):
    # The earlier ones are on disk after this.
    wrong = s.check_spans()
    file = s.main.folder / "spans"
    size = file.stat().st_size if file.exists() else 0
    texts = [wire.traceparent(b"\7" * 16, 7, False), *vectors.vectors()["traceparent"]["bad"]]
    for text in (None, *texts):
        answer = probe(s, headers={} if text is None else {"traceparent": text})
        wrong += good(s, answer, f"traceparent `{text}`")
    time.sleep(0.4)
    grew = (file.stat().st_size if file.exists() else 0) - size
    return wrong + ([f"the file of spans grew by {grew} bytes"] if grew else [])


@case("counts what it does")
def _(s):
    names = ("requests", "errors", "refused", "deadline", "overloaded", "degraded", "retries", "bad_frames", "connections",
             "spans", "queue_ns", "application_ns", "cpu_ns")
    before, seen, answers = s.main.counters(), len(s.fakes.seen()), []
    missing = [name for name in names if name not in before]
    if missing:
        return [f"`counters` lacks {', '.join(missing)}"]
    number, steps = 5, len(steps_of(s.probe))
    for _ in range(number):
        answers.append(probe(s, sampled=True))
    s.keep_traces([(answer, method_of(s)) for answer in answers])
    # Requests for `counters` are counted or not, by each service as it likes.
    own = s.main.counters()["requests"] - s.main.counters()["requests"]
    asked, looks = number * steps, 2

    def look():
        nonlocal looks
        wrong, after = [], s.main.counters()
        looks += 1
        grew = {name: after.get(name, 0) - before.get(name, 0) for name in after}
        if grew["requests"] != asked - own * looks:
            wrong.append(f"`requests` grew by {grew['requests']}; {asked} were sent{f' and {looks} for counters' if own else ''}")
        if grew["connections"] < 1:
            wrong.append("`connections` did not grow")
        spans, _ = records.read(s.main.folder / "spans", s.entry["id"], 0)
        mine = sum(span.trace in {answer.trace for answer in answers} for span in spans)
        if grew["spans"] != mine:
            wrong.append(f"`spans` grew by {grew['spans']}; the file got {mine} of these requests")
        for name, place in (("queue_ns", 0), ("application_ns", 1), ("cpu_ns", 2)):
            least = sum(int((answer.headers or {}).get("s", "0,0,0").split(",")[place]) for answer in answers)
            if grew[name] < least:
                wrong.append(f"`{name}` grew by {grew[name]}; the answers' headers say {least}")
        for name in ("errors", "overloaded", "deadline", "retries", "bad_frames"):
            if grew[name]:
                wrong.append(f"`{name}` grew by {grew[name]}")
        counts = {}
        for call in s.fakes.seen()[seen:]:
            counts[call.service, call.method] = counts.get((call.service, call.method), 0) + 1
        for (service, method), count in counts.items():
            edge = f"edge.{service}.{method}"
            if grew.get(f"{edge}.calls", 0) != count or grew.get(f"{edge}.errors", 0) or grew.get(f"{edge}.ns", 0) <= 0:
                wrong.append(f"`{edge}`: calls, errors, ns grew by {[grew.get(f'{edge}.{what}') for what in ('calls', 'errors', 'ns')]}; {count} were seen")
        return wrong

    children.until(lambda: not look(), 2, 0.2)
    return look()


@case("writes no spans where it has no file for them")
def _(s):
    process = s.start(spans="")
    try:
        return good(s, probe(s, process=process, sampled=True))
    finally:
        process.close()
