"""One process of the service under test, and connections to it."""

import contextlib
import itertools
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass

import children
import wire

_sequence = itertools.count(1)
# Longest start, on a busy machine. Units: s.
START = 60
# How long after its deadline an answer is still waited for. Units: s.
PATIENCE = 5.0


@dataclass
class Answer:
    """`kind`: result, refused, exception, empty; `value` as in idl.Idl.answer."""

    kind: str
    value: object
    headers: dict | None
    """CLOCK_MONOTONIC before it was sent and after it was read. Units: ns."""
    sent: int
    read: int
    size_out: int
    size_in: int
    trace: bytes | None = None
    span: int = 0

    def __str__(self):
        return f"{self.kind} {self.value!r}"[:400]

    def begins(self, *texts: str) -> bool:
        """An application exception with one of these beginnings."""
        return self.kind == "exception" and self.value[1].startswith(texts)


class Connection:
    def __init__(self, port: int, idl, service: str):
        self._idl, self._service = idl, service
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def frame(self, method: str, arguments, headers, sequence=None) -> bytes:
        sequence = next(_sequence) if sequence is None else sequence
        return wire.encode(wire.Frame(self._idl.call(self._service, method, sequence, arguments), headers, sequence))

    def read(self, sent: int, size: int, sequence: int, method: str, plain: bool) -> Answer:
        frame = wire.read(self.socket)
        now = time.monotonic_ns()
        name, number, answer = self._idl.answer(self._service, frame.message)
        if (frame.headers is None) != plain:
            raise wire.Malformed(f"a {'header' if plain else 'plain'} frame answers a {'plain' if plain else 'header'} one")
        if number != sequence or (not plain and frame.sequence != sequence & 0xFFFFFFFF):
            raise wire.Malformed(f"sequence {frame.sequence} of the frame and {number} of the message answer {sequence}")
        if name != method:
            raise wire.Malformed(f"a message named {name} answers {method}")
        kind, *value = answer
        return Answer(kind, value[0] if len(value) == 1 else tuple(value), frame.headers, sent, now, size, frame.size)

    def call(self, method: str, arguments, **more) -> Answer:
        """`more`: of `send`."""
        return self.receive(self.send(method, arguments, **more))

    def send(self, method: str, arguments, deadline_ms=2000, headers=None, sampled=None, plain=False) -> tuple:
        """What `receive` takes. `sampled`: None sends no traceparent."""
        trace, span = random.randbytes(16), random.getrandbits(64) or 1
        sequence = next(_sequence)
        if not plain:
            headers = dict(headers or {})
            if deadline_ms is not None:
                headers.setdefault("d", str(deadline_ms))
            if sampled is not None:
                headers["traceparent"] = wire.traceparent(trace, span, sampled)
        data = self.frame(method, arguments, None if plain else headers, sequence)
        self.socket.settimeout(max(0, (2000 if deadline_ms is None else deadline_ms) / 1000) + PATIENCE)
        sent = time.monotonic_ns()
        self.socket.sendall(data)
        return (sent, len(data), sequence, method, plain), (trace, span) if sampled is not None and not plain else (None, 0)

    def receive(self, sent: tuple) -> Answer:
        answer = self.read(*sent[0])
        answer.trace, answer.span = sent[1]
        return answer


class Process:
    def __init__(self, program: pathlib.Path, folder: pathlib.Path, idl, service: str, values: dict):
        self.values, self._idl, self._service = values, idl, service
        # `close` may be called more than once.
        self._closed = False
        self.port = int(values.get("listen", ":0").rsplit(":", 1)[1])
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        config = folder / "service.conf"
        config.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        self._errors = (folder / "stderr").open("w")
        self._ready, self._line = threading.Event(), ""
        self.process = children.start([program, config], stdout=subprocess.PIPE, stderr=self._errors, stdin=subprocess.DEVNULL, cwd=folder)
        copy = (folder / "stdout").open("wb")
        threading.Thread(target=self._read, args=(copy,), daemon=True).start()

    def _read(self, copy) -> None:
        with self.process.stdout as lines, copy:
            for line in lines:
                copy.write(line)
                copy.flush()
                if not self._ready.is_set():
                    self._line = line.decode(errors="replace")
                    self._ready.set()
        self._ready.set()

    def wait_ready(self, limit=START) -> None:
        """Errors: RuntimeError."""
        if not self._ready.wait(limit):
            raise RuntimeError(f"it is not ready after {limit} s; standard error: {self.errors()}")
        wanted = f"ready {self.values['service']} {self.values['listen']}\n"
        if self._line != wanted:
            code = children.until(lambda: self.process.poll() is not None, 2) and self.process.returncode
            raise RuntimeError(f"expected the line {wanted!r}, got {self._line!r}; exit code {code}; standard error: {self.errors()}")

    def is_ready(self) -> bool:
        return self._ready.is_set() and self._line.startswith("ready ")

    def errors(self) -> str:
        text = (self.folder / "stderr").read_text(errors="replace").strip()
        return text if len(text) < 1500 else "… " + text[-1500:]

    def connect(self) -> Connection:
        return Connection(self.port, self._idl, self._service)

    def counters(self) -> dict:
        with self.connect() as connection:
            return connection.call("counters", []).value

    def alive(self) -> bool:
        """Whether it answers."""
        with self.connect() as connection:
            return connection.call("ping", []).kind == "result"

    @contextlib.contextmanager
    def stopped(self):
        """Nothing of it runs meanwhile, and the kernel takes what is sent to it."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGCONT)

    def ended(self, limit: float):
        """The exit code, negative for a signal; None where it runs still after `limit` seconds."""
        children.until(lambda: self.process.poll() is not None, limit)
        return self.process.returncode

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            children.end(self.process, signal.SIGKILL)
            self._errors.close()


def port_is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
            one.listen()
            return True
        except OSError:
            return False
