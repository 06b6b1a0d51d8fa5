"""One request and its answer."""

import pathlib
import struct
import time

import wire
from common.probe import case, good, method_of, probe

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
# Longest wait for any event. Units: s.
PATIENCE = 5.0


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
