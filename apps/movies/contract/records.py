"""Files of spans: records of 128 bytes."""

import pathlib
import struct
from dataclasses import dataclass

FILE = struct.Struct("<IHHH6s36s4sqQ56s")
SPAN = struct.Struct("<IHHHHBBH16sQQ6QQII16s")
FILE_MAGIC, SPAN_MAGIC = 0x31485053, 0x314E5053
SERVER, CLIENT, STORE = range(3)
OUTCOMES = ("ok", "refused", "failed", "deadline")


@dataclass
class Span:
    service: int
    instance: int
    peer: int
    method: int
    kind: int
    outcome: int
    flags: int
    trace: bytes
    span: int
    parent: int
    stamps: tuple
    cpu: int
    size_in: int
    size_out: int


def read(file: pathlib.Path, service: int, instance: int, pid=None):
    """The spans, and what is wrong with the file."""
    data = file.read_bytes() if file.exists() else b""
    if not data:
        return [], ["the file of spans is empty"]
    wrong = [f"{len(data)} bytes are not a multiple of 128"] if len(data) % 128 else []
    magic, version, number, place, zeros, boot, more, _offset, _process, rest = FILE.unpack_from(data)
    if (magic, version, number, place) != (FILE_MAGIC, 1, service, instance) or any(zeros + more + rest):
        wrong.append(f"the first record has magic {magic:#x}, version {version}, service {number}, instance {place}")
    if boot.decode("latin-1") != pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip():
        wrong.append(f"the first record has boot id {boot!r}")
    spans = []
    for at in range(128, len(data) - 127, 128):
        magic, *values = SPAN.unpack_from(data, at)
        if magic != SPAN_MAGIC or any(values[-1]):
            wrong.append(f"record {at // 128} has magic {magic:#x} and ends with {values[-1].hex()}")
            continue
        a = 10
        spans.append(Span(*values[:a], tuple(values[a:a + 6]), *values[a + 6:a + 9]))
    for span in spans:
        if (span.service, span.instance) != (service, instance):
            wrong.append(f"a span of service {span.service}, instance {span.instance}")
        if span.span == 0 or span.kind > STORE or span.outcome > 3 or span.flags > 1:
            wrong.append(f"a span with id {span.span}, kind {span.kind}, outcome {span.outcome}, flags {span.flags}")
        if list(span.stamps) != sorted(span.stamps):
            wrong.append(f"stamps out of order in a span of kind {span.kind}: {span.stamps}")
    ids = [span.span for span in spans]
    if len(set(ids)) != len(ids):
        wrong.append("two spans have one id")
    return spans, wrong


def expected_outcome(answer) -> int:
    if answer.kind == "http":
        status = answer.value["status"]
        return 0 if status < 400 else 1 if status < 500 else 3 if status == 504 else 2
    return {"result": 0, "refused": 1}.get(answer.kind, 3 if answer.begins("deadline: ") else 2)


def check_request(spans: list, answer, calls: list, registry: dict, callee_ids: set, store_ids: set, name: str, method: str) -> list:
    """What is wrong with the spans of one request, that was `answer`ed, and of which the fakes saw `calls`."""
    mine = [span for span in spans if span.trace == answer.trace]
    servers = [span for span in mine if span.kind == SERVER]
    if len(servers) != 1:
        return [f"{len(servers)} server spans for one request of {method}"]
    server, wrong = servers[0], []
    if server.parent != answer.span:
        wrong.append(f"the server span's parent is {server.parent:016x}, the caller's span was {answer.span:016x}")
    if server.method != registry[name]["methods"].index(method) or server.peer != 0:
        wrong.append(f"a server span with method {server.method} and peer {server.peer} for {method}")
    if server.outcome != expected_outcome(answer):
        wrong.append(f"outcome {OUTCOMES[server.outcome]} of the server span for an answer: {answer}")
    if server.stamps[0] < answer.sent:
        wrong.append(f"the request was complete {answer.sent - server.stamps[0]} ns before it was sent")
    if server.stamps[4] > answer.read:
        wrong.append(f"the answer was encoded {server.stamps[4] - answer.read} ns after it had been read")
    if answer.kind != "http" and (server.size_in not in range(answer.size_out - 80, answer.size_out + 1) or server.size_out not in range(answer.size_in - 80, answer.size_in + 1)):
        wrong.append(f"{server.size_in} and {server.size_out} bytes; {answer.size_out} were sent and {answer.size_in} came")
    clients = {span.span: span for span in mine if span.kind == CLIENT}
    for span in mine:
        if span.kind == SERVER:
            continue
        if span.parent != server.span:
            wrong.append(f"a span of kind {span.kind} has parent {span.parent:016x}, the server span is {server.span:016x}")
        if span.peer not in (callee_ids if span.kind == CLIENT else store_ids):
            wrong.append(f"a span of kind {span.kind} with peer {span.peer}; known are {sorted(callee_ids if span.kind == CLIENT else store_ids)}")
        if span.kind == STORE and span.method > 4:
            wrong.append(f"a store span with method {span.method}")
    sent = set()
    for call in calls:
        callee = registry[call.service]
        text = call.headers.get("traceparent", "")
        number = int(text[36:52], 16) if len(text) == 55 else None
        span = clients.get(number)
        if span is None:
            wrong.append(f"no client span for {call.service}.{call.method}, which was sent traceparent `{text}`")
            continue
        sent.add(number)
        if (span.peer, span.method) != (callee["id"], callee["methods"].index(call.method)):
            wrong.append(f"the client span of {call.service}.{call.method} has peer {span.peer} and method {span.method}")
        if not span.stamps[0] <= call.began or (call.ended and span.outcome == 0 and span.stamps[4] < call.began):
            wrong.append(f"the client span of {call.service}.{call.method} does not hold the time at which it was seen")
    for number, span in clients.items():
        if number not in sent and span.outcome == 0:
            wrong.append(f"a client span to {span.peer} of a call that no fake has seen")
    return wrong
