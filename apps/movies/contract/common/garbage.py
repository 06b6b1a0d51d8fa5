"""Bytes that are no requests."""

import pathlib
import random
import socket
import struct

import children
import wire
from cases import steps_of
from common.probe import any_arguments, case, method_of

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
# How long a connection may stay open after garbage. Units: s.
CLOSED_WITHIN = 3.0
# Connections that announce frames of 16 MiB, and the memory that they may take together. Units of the latter: bytes.
CLAIMS = 16
CLAIMED = 32 * 2**20


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


@case("takes no memory for large frames that are announced and do not come")
def _(s):
    process, open_ones = s.start(threads=CLAIMS), []
    try:
        # Memory for the service's first connections does not count.
        for _ in range(2):
            open_ones += [process.connect() for _ in range(CLAIMS)]
            for one in open_ones:
                one.call("ping", [])
            while open_ones:
                open_ones.pop().socket.close()
        before = children.resident(process.process)
        for _ in range(CLAIMS):
            open_ones.append(process.connect())
            open_ones[-1].socket.sendall(struct.pack(">I", wire.LIMIT))
        children.until(lambda: children.resident(process.process) - before > CLAIMED, 1.0, 0.1)
        grew = children.resident(process.process) - before
        return [] if grew <= CLAIMED else [f"{CLAIMS} connections that each announced 16 MiB took {grew / 2**20:.0f} MiB"]
    finally:
        for one in open_ones:
            one.socket.close()
        process.close()


@case("survives structures in structures, a million deep")
def _(s):
    message = s.idl.call(s.entry["idl"], "ping", 3, [])[:-1] + struct.pack(">bh", 12, 1) * 1_000_000
    return _garbage(s, wire.encode(wire.Frame(message)), True)


@case("survives random bytes")
def _(s):
    # The same in every run.
    source, wrong = random.Random(1), []
    good_frame = wire.encode(wire.Frame(s.idl.call(s.entry["idl"], method_of(s), 9, any_arguments(s, steps_of(s.probe)[-1])),
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
