"""The cases that every service must pass, whatever it does."""

import pathlib
import random
import signal
import socket
import struct
import time

import children
import records
import vectors
import wire
from cases import ask, expect, steps_of
from service import port_is_free
from together import together
from values import make

GOLDEN = pathlib.Path(__file__).parent / "golden"
# What a connection with garbage may live on, and what anything that is waited for may take at most. Units: s.
CLOSED_WITHIN, PATIENCE = 3.0, 5.0
# What an answer may take beyond the deadline of its request. Ours: a machine of two cores that is busy. Units: ms.
BEYOND = 1500
CASES = []


class Skip(Exception):
    """Why the case does not apply."""


def case(name: str):
    def keep(function):
        CASES.append((name, function))
        return function
    return keep


def probe(s, connection=None, process=None, **more):
    """Asks the probe's steps; the answer to the last. `more`: of Connection.call, for the last."""
    process = process or s.main
    s.env.fresh, s.env.steps = {}, []
    *before, last = steps_of(s.probe)
    for step in before:
        with process.connect() as other:
            s.env.steps.append(ask(s, other, step, sampled=None).value)
    arguments = _arguments(s, last)
    if connection:
        return connection.call(last["method"], arguments, **more)
    with process.connect() as connection:
        return connection.call(last["method"], arguments, **more)


def _arguments(s, step):
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


# ---- one request

@case("answers ping with its CLOCK_MONOTONIC")
def _(s):
    with s.main.connect() as connection:
        answer = connection.call("ping", [])
    return [] if answer.kind == "result" and answer.sent <= answer.value <= answer.read else [f"expected {answer.sent} to {answer.read}, got {answer}"]


@case("answers a header frame with the times it took")
def _(s):
    answer = probe(s, sampled=True)
    s.keep_traces([(answer, method_of(s))])
    wrong, text = good(s, answer), (answer.headers or {}).get("s", "")
    parts = text.split(",")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        return [*wrong, f"expected the header s=QUEUE,APPLICATION,CPU, got {answer.headers}"]
    queue, application, _cpu = map(int, parts)
    if queue + application > answer.read - answer.sent:
        wrong.append(f"queue {queue} and application {application} ns are more than the {answer.read - answer.sent} ns that were observed")
    return wrong


@case("answers a plain frame plainly")
def _(s):
    return good(s, probe(s, plain=True))


@case("takes the golden frames")
def _(s):
    wrong = []
    for golden in wire.Golden.all(GOLDEN):
        if not golden.accept or "ping" not in golden.about and "sequence" not in golden.name:
            continue
        with s.main.connect() as connection:
            connection.socket.settimeout(PATIENCE)
            connection.socket.sendall(golden.data)
            try:
                frame = wire.read(connection.socket)
                name, sequence, answer = s.idl.answer(s.entry["idl"], frame.message)
                sent = wire.decode(golden.data[4:])
                expected = s.idl.open(sent.message)[2]
                if name != "ping" or answer[0] != "result" or sequence != expected or frame.sequence != sent.sequence:
                    wrong.append(f"{golden.name}: got {name} {answer}, sequence {frame.sequence}, {sequence}; it was sent {sent.sequence}, {expected}")
            except (wire.Closed, wire.Malformed, OSError) as error:
                wrong.append(f"{golden.name} ({golden.about}): {error!r}")
    return wrong


@case("takes a frame that comes byte by byte")
def _(s):
    with s.main.connect() as connection:
        data = connection.frame("ping", [], {"d": "2000"}, 77)
        connection.socket.settimeout(PATIENCE)
        sent = time.monotonic_ns()
        for at in range(len(data)):
            connection.socket.sendall(data[at:at + 1])
            time.sleep(0.0005)
        answer = connection.read(sent, len(data), 77, "ping", False)
    return [] if answer.kind == "result" else [f"got {answer}"]


@case("takes a frame of 16 MiB")
def _(s):
    with s.main.connect() as connection:
        room = wire.LIMIT - len(s.idl.call(s.entry["idl"], "ping", 5, [])) - 7
        message = s.idl.call(s.entry["idl"], "ping", 5, [])[:-1] + struct.pack(">bhi", 11, 99, room) + b"x" * room + b"\0"
        data = wire.encode(wire.Frame(message))
        connection.socket.settimeout(30)
        sent = time.monotonic_ns()
        connection.socket.sendall(data)
        answer = connection.read(sent, len(data), 5, "ping", True)
    return [] if answer.kind == "result" else [f"got {answer}"]


@case("answers requests of one connection in order")
def _(s):
    with s.main.connect() as connection:
        sequences = list(range(1000, 1020))
        connection.socket.settimeout(PATIENCE)
        sent = time.monotonic_ns()
        connection.socket.sendall(b"".join(connection.frame("ping", [], {}, sequence) for sequence in sequences))
        for sequence in sequences:
            connection.read(sent, 0, sequence, "ping", False)
    return []


@case("names a method that it does not have")
def _(s):
    with s.main.connect() as connection:
        connection.socket.settimeout(PATIENCE)
        message = s.idl.call(s.entry["idl"], "ping", 3, []).replace(b"ping", b"pong")
        connection.socket.sendall(wire.encode(wire.Frame(message, {"d": "2000"}, 3)))
        frame = wire.read(connection.socket)
        _, sequence, answer = s.idl.answer(s.entry["idl"], frame.message)
        wrong = []
        if answer[0] != "exception" or answer[1] != 1 or sequence != 3:
            wrong.append(f"expected an application exception of type 1 (unknown method), got {answer}, sequence {sequence}")
        if connection.call("ping", []).kind != "result":
            wrong.append("the connection cannot be used afterwards")
    return wrong


# ---- deadlines

@case("refuses a spent deadline")
def _(s):
    before, seen, wrong = s.main.counters(), len(s.fakes.seen()), []
    # A probe of several steps makes calls of its own, before.
    *earlier, last = steps_of(s.probe)
    s.env.fresh, s.env.steps = {}, [None] * len(earlier)
    with s.main.connect() as connection:
        answer = connection.call(last["method"], _plain_arguments(s, last), headers={"d": "0"}, sampled=True)
    s.keep_traces([(answer, last["method"])])
    if not answer.begins("deadline: ") or answer.value[0] != 6:
        wrong.append(f"d=0: expected an application exception of type 6 that begins `deadline: `, got {answer}")
    if len(s.fakes.seen()) > seen:
        wrong.append("it called others")
    grew = grown(s, before, "deadline")
    return wrong if grew["deadline"] == 1 or wrong else [f"the counter `deadline` grew by {grew['deadline']}, not by 1"]


def _plain_arguments(s, step):
    try:
        return _arguments(s, step)
    except (IndexError, TypeError):
        return []


@case("passes on what is left of the deadline")
def _(s):
    if not s.upstreams:
        raise Skip("it calls no services")
    wrong = []
    for sent in (1500, None):
        answer = probe(s, deadline_ms=sent, sampled=True)
        s.keep_traces([(answer, method_of(s))])
        wrong += good(s, answer)
        calls = s.fakes.seen({answer.trace.hex()})
        limits = s.service.get("deadline_ms", {})
        if not calls:
            return [*wrong, "the probe reached no fake with the trace that was sent"]
        for call in calls:
            left, most = call.headers.get("d", ""), min(sent or 2000, limits.get(call.service, 10**9))
            if not left.isdigit() or not 0 < int(left) <= most or (sent and int(left) == sent):
                wrong.append(f"{call.service}.{call.method} was sent d=`{left}`; the request had {sent or 'no d, so 2000'}")
    return wrong


# ---- bytes that are no requests

@case("closes connections with garbage, and lives")
def _(s):
    before, frames, wrong = s.main.counters()["bad_frames"], 0, []
    for golden in wire.Golden.all(GOLDEN):
        if not golden.accept:
            frames += golden.level == "frame"
            wrong += [f"{golden.name} ({golden.about}): {line}" for line in _garbage(s, golden.data, golden.level == "message")]
    if wrong:
        return wrong
    grew = children.until(lambda: max(0, s.main.counters()["bad_frames"] - before - frames + 1), 2, 0.1)
    return [] if grew else [f"`bad_frames` grew by {s.main.counters()['bad_frames'] - before}, {frames} frames were sent that cannot be taken"]


def _garbage(s, data: bytes, may_answer: bool, half=False) -> list:
    wrong = []
    with s.main.connect() as connection:
        connection.socket.settimeout(CLOSED_WITHIN)
        try:
            connection.socket.sendall(data)
            if half:
                connection.socket.shutdown(socket.SHUT_WR)
            frame = wire.read(connection.socket)
            answer = s.idl.answer(s.entry["idl"], frame.message)[2]
            if not may_answer or answer[0] != "exception":
                wrong.append(f"answered: {answer}")
        except wire.Closed as error:
            wrong += [f"answered by {len(error.data)} bytes that are no frame"] if error.data else []
        except TimeoutError:
            wrong.append(f"the connection is open still after {CLOSED_WITHIN} s")
        except (ConnectionError, BrokenPipeError):
            pass  # closed before all was written
    if s.main.process.poll() is not None:
        code = s.main.process.returncode
        s.restart_after_crash()
        return [f"the service ended with exit code {code}"]
    if not s.main.alive():
        wrong.append("ping is not answered afterwards")
    return wrong


@case("closes connections that end within a frame, and lives")
def _(s):
    wrong = []
    for name, data in (("half a length", b"\0\0"), ("half a frame", struct.pack(">I", 100) + b"\x80\x01\x00\x01"),
                       ("half of 16 MiB", struct.pack(">I", wire.LIMIT) + b"\x80" * 2**20)):
        wrong += [f"{name}: {line}" for line in _garbage(s, data, False, half=True)]
    return wrong


@case("survives structures in structures, a million deep")
def _(s):
    message = s.idl.call(s.entry["idl"], "ping", 3, [])[:-1] + struct.pack(">bh", 12, 1) * 1_000_000
    return _garbage(s, wire.encode(wire.Frame(message)), True)


@case("survives random bytes")
def _(s):
    # The same in every run.
    source, wrong = random.Random(1), []
    good_frame = wire.encode(wire.Frame(s.idl.call(s.entry["idl"], method_of(s), 9, _plain_arguments(s, steps_of(s.probe)[-1])),
                                        {"d": "50", "traceparent": wire.traceparent(b"\1" * 16, 1, False)}, 9))
    for _ in range(200):
        data = bytearray(good_frame)
        for _ in range(source.randint(1, 4)):
            data[source.randrange(4, len(data))] = source.randrange(256)
        with s.main.connect() as connection:
            connection.socket.settimeout(CLOSED_WITHIN)
            try:
                connection.socket.sendall(data)
                connection.socket.shutdown(socket.SHUT_WR)
                while connection.socket.recv(65536):
                    pass
            except TimeoutError:
                wrong.append(f"neither answered nor closed within {CLOSED_WITHIN} s: {bytes(data).hex()}")
            except OSError:
                pass
        if s.main.process.poll() is not None:
            code = s.main.process.returncode
            s.restart_after_crash()
            return [f"the service ended with exit code {code} after {bytes(data).hex()}"]
    s.fakes.reset(s.fakes.rules, s.env)
    return wrong[:3] if s.main.alive() else [*wrong[:3], "ping is not answered afterwards"]


# ---- many at once

@case("serves 32 connections at once")
def _(s):
    if len(steps_of(s.probe)) > 1:
        def one(_):
            with s.main.connect() as connection:
                return connection.call("ping", [])
        return [f"ping: {answer}" for answer in together(32, one) if answer.kind != "result"]
    last = steps_of(s.probe)[-1]
    s.env.fresh = {}
    arguments = []
    for _ in range(32):
        s.env.fresh = {}
        arguments.append(_arguments(s, last))

    def one(place):
        with s.main.connect() as connection:
            return connection.call(last["method"], arguments[place], deadline_ms=10000, sampled=True)

    answers = together(32, one)
    s.keep_traces([(answer, last["method"]) for answer in answers])
    return [line for answer in answers for line in good(s, answer)][:3]


@case("refuses what is beyond its queue")
def _(s):
    process = s.start(threads=1, queue=1)
    locks = []
    try:
        first = probe(s, process=process)
        wrong = good(s, first)
        last = steps_of(s.probe)[-1]
        blocked = bool(s.upstreams or s.stores)
        if s.upstreams:
            s.fakes.gate.clear()
        elif s.stores:
            flush(s)
            locks = [s.world.postgres.lock(domain) for domain in s.stores]
        # Without anything to wait for, requests are quick: more of them, and more than once.
        for _ in range(1 if blocked else 20):
            refused, sent = _flood(s, process, last, 12 if blocked else 64, 1.0 if blocked else 0.3)
            if refused:
                break
        # One is served, one waits; two more for what the kernel, or an event loop between two of them, may hold.
        if refused < (sent - 4 if blocked else 1):
            wrong.append(f"{refused} of {sent} requests at once were answered `overloaded: `, with threads=1 and queue=1")
        s.fakes.gate.set()
        for lock in locks:
            lock.close()
        locks = []
        after = children.until(lambda: _counter(process, "overloaded") >= min(refused, 1), PATIENCE, 0.1)
        if not after:
            wrong.append("the counter `overloaded` does not say so")
        answer = children.until(lambda: _maybe(s, process), PATIENCE, 0.1)
        return wrong if answer else [*wrong, f"it does not answer the probe within {PATIENCE} s afterwards"]
    finally:
        s.fakes.gate.set()
        for lock in locks:
            lock.close()
        process.close()


def _counter(process, name):
    try:
        return process.counters()[name]
    except (OSError, wire.Closed, TypeError, KeyError):
        return -1


def _maybe(s, process):
    try:
        return is_good(s, probe(s, process=process))
    except (OSError, wire.Closed):
        return False


def _flood(s, process, step, number: int, wait: float):
    """How many of so many requests at once were answered `overloaded: `, and how many were sent."""
    s.env.fresh = {}
    connections, refused, sent = [], 0, 0
    try:
        for place in range(number):
            try:
                connections.append(process.connect())
            except OSError:
                break
        frames = [(connection, connection.frame(step["method"], _plain_arguments(s, step), {"d": "3000"}, 5)) for connection in connections]
        for connection, frame in frames:
            connection.socket.settimeout(wait)
            try:
                connection.socket.sendall(frame)
                sent += 1
            except OSError:
                pass
        end = time.monotonic() + wait
        for connection, frame in frames:
            try:
                connection.socket.settimeout(max(0.001, end - time.monotonic()))
                answer = connection.read(0, 0, 5, step["method"], False)
                refused += answer.begins("overloaded: ")
            except (OSError, wire.Closed):
                pass
        return refused, sent
    finally:
        for connection in connections:
            connection.socket.close()


# ---- spans and counters

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


# ---- faults of others

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
        # What retries cost is given back by calls.
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


# ---- beginning and end

def _fails(s, **changes) -> str:
    """Standard error of a process that must not start; raises AssertionError where it does."""
    process = s.start(wait=False, **changes)
    try:
        code = process.ended(20)
        if code is None:
            raise AssertionError("it runs")
        if code == 0:
            raise AssertionError("exit code 0")
        return (process.folder / "stderr").read_text(errors="replace") + (process.folder / "stdout").read_text(errors="replace")
    finally:
        process.close()


@case("names a key of the configuration that is unknown or missing")
def _(s):
    wrong = []
    keys = ["service", "listen", "threads", "queue"]
    keys += [f"upstream.{name}" for name in s.upstreams[:1]] + [f"store.{name}" for name in s.stores] + [f"cache.{name}" for name in s.caches]
    for key, changes in [("colour", {"colour": "red"}), *((key, {key: None}) for key in keys)]:
        try:
            text = _fails(s, **changes)
            if key not in text:
                wrong.append(f"`{key}` {'unknown' if changes[key] else 'missing'}: the error does not name it: {text[:300]!r}")
        except AssertionError as error:
            wrong.append(f"`{key}` {'unknown' if changes[key] else 'missing'}: {error}")
    return wrong


@case("is ready when the services that it calls answer ping")
def _(s):
    needed = [name for name in s.upstreams if name not in s.optional]
    if not needed:
        raise Skip("it calls no services")
    wrong, silent = [], needed[-1]
    s.fakes.silent.add(silent)
    for optional in s.optional:
        if optional in s.upstreams:
            s.fakes.fall(optional)
    process = s.start(wait=False)
    try:
        if not children.until(lambda: _alive(process), 20, 0.05):
            wrong.append(f"it does not answer ping while {silent} is silent; standard error: {process.errors()}")
        time.sleep(0.7)
        if process.is_ready():
            wrong.append(f"it is ready while {silent} does not answer ping")
        s.fakes.reset(s.fakes.rules, s.env)
        try:
            process.wait_ready(20)
        except RuntimeError as error:
            wrong.append(f"without {', '.join(s.optional) or 'any fault'}: {error}")
        return wrong
    finally:
        s.fakes.rise_all()
        process.close()


def _alive(process) -> bool:
    try:
        return process.process.poll() is not None or process.alive()
    except (OSError, wire.Closed):
        return False


@case("gives up when a service that it calls does not come, and names it")
def _(s):
    if s.doomed is None:
        raise Skip("it calls no services")
    process, name, began = s.doomed
    code = process.ended(max(1.0, 30 - (time.monotonic() - began)))
    if code is None or code == 0:
        return [f"expected an exit code that is not 0 after 20 s, got {code}; it {'is' if process.is_ready() else 'is not'} ready"]
    return [] if name in process.errors() else [f"the error does not name {name}: {process.errors()[:300]!r}"]


def _end(s, how) -> list:
    process, wrong = s.start(), []
    locks = []
    try:
        wrong += good(s, probe(s, process=process))
        *earlier, last = steps_of(s.probe)
        s.env.fresh, s.env.steps = {}, []
        for step in earlier:
            with process.connect() as other:
                s.env.steps.append(ask(s, other, step, sampled=None).value)
        if s.upstreams:
            s.fakes.gate.clear()
        elif s.stores:
            flush(s)
            locks = [s.world.postgres.lock(domain) for domain in s.stores]
        with process.connect() as connection, process.connect() as idle:
            data = connection.frame(last["method"], _arguments(s, last), {"d": "5000"}, 11)
            connection.socket.settimeout(PATIENCE)
            connection.socket.sendall(data)
            time.sleep(0.3)
            began = time.monotonic()
            how(process)
            time.sleep(0.5)
            s.fakes.gate.set()
            for lock in locks:
                lock.close()
            locks = []
            try:
                answer = connection.read(0, len(data), 11, last["method"], False)
                wrong += good(s, answer, "the request under way")
            except (wire.Closed, OSError) as error:
                wrong.append(f"the request under way was not answered: {error}")
            code = process.ended(began + 2.5 - time.monotonic())
            took = time.monotonic() - began
            if code is None:
                code = process.ended(PATIENCE)
                took = time.monotonic() - began
                wrong.append(f"it ended after {took:.1f} s, the limit is 2.5 s; exit code {code}")
            elif code != 0:
                wrong.append(f"exit code {code}; standard error: {process.errors()[-300:]}")
            del idle
        if not port_is_free(process.port):
            wrong.append("its port is not free")
        return wrong
    finally:
        s.fakes.gate.set()
        for lock in locks:
            lock.close()
        process.close()


@case("ends on SIGTERM after the requests under way")
def _(s):
    return _end(s, lambda process: process.process.send_signal(signal.SIGTERM))


@case("ends on `drain` after the requests under way")
def _(s):
    def drain(process):
        with process.connect() as connection:
            answer = connection.call("drain", [])
            if answer.kind != "result":
                raise wire.Malformed(f"drain was answered {answer}")
    return _end(s, drain)
