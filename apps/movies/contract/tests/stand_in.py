"""A stand-in for `reviews` that keeps the contract, but for the fault that FAULT names: with it the runner is tested."""

import os
import pathlib
import queue
import random
import re
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

CONTRACT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(CONTRACT))

import vectors  # noqa: E402
import wire  # noqa: E402
from idl import Idl  # noqa: E402
from thrift.Thrift import TApplicationException, TMessageType  # noqa: E402

FAULT = os.environ.get("FAULT", "")
KEYS = ("service", "id", "instance", "listen", "threads", "queue", "spans", "secret", "data", "upstream.movie-review", "upstream.review-storage")
FAMILIES = re.compile(r"optional|upstream\.[a-z-]+|cache\.[a-z]+|store\.[a-z]+|call\.[a-z-]+\.deadline_ms")
TIMES = re.compile("([0-9]{1,18}),([0-9]{1,18}),([0-9]{1,18})")
CALLEES = {"movie-review": (25, "MovieReview", {"page": 1}), "review-storage": (24, "ReviewStorage", {"readMany": 1})}
NAMES = ("requests", "errors", "refused", "deadline", "overloaded", "degraded", "retries", "bad_frames", "connections", "spans",
         "queue_ns", "application_ns", "cpu_ns")


class Refuse(Exception):
    pass


def trace_of(headers: dict) -> str:
    """Empty where it is none that can be passed on."""
    text = headers.get("traceparent", "")
    fits = wire.TRACEPARENT.fullmatch(text) and int(text[3:35], 16) and int(text[36:52], 16)
    return text if fits else ""


class StandIn:
    def __init__(self, config: dict, idl: Idl):
        self.config, self.idl = config, idl
        self.counts, self.lock = dict.fromkeys(NAMES, 0), threading.Lock()
        self.work, self.ending, self.waiting, self.connections = queue.SimpleQueue(), threading.Event(), 0, set()
        self.pools = {name: threading.Semaphore(8) for name in CALLEES}
        self.spans = open(config["spans"], "ab", buffering=0) if config["spans"] else None
        if self.spans:
            boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip().encode()
            self.spans.write(struct.pack("<IHHH6x36s4xqQ56x", 0x31485053, 1, int(config["id"]), 0, boot, 0, os.getpid()))

    def count(self, name: str, amount=1) -> None:
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + amount

    # ---- the server

    def serve(self) -> None:
        host, port = self.config["listen"].rsplit(":", 1)
        self.listener = socket.create_server((host, int(port)), backlog=512)
        for _ in range(int(self.config["threads"])):
            threading.Thread(target=self.worker, daemon=True).start()
        threading.Thread(target=self.accept, daemon=True).start()
        if FAULT != "ready at once":
            for name in CALLEES:
                self.wait_for(name)
        print(f"ready {self.config['service']} {self.config['listen']}", flush=True)
        self.ending.wait()
        self.listener.close()
        end = time.monotonic() + (0 if FAULT == "ends at once" else 2)
        with self.lock:
            for connection in self.connections:
                # Received bytes stay readable, except with the fault that discards them.
                self.shut(connection, socket.SHUT_RDWR if FAULT == "forgets what came" else socket.SHUT_RD)
        while time.monotonic() < end and self.connections:
            time.sleep(0.01)
        os._exit(3 if FAULT == "exit code" else 0)

    @staticmethod
    def shut(connection, how) -> None:
        try:
            connection.shutdown(how)
        except OSError:
            pass

    def wait_for(self, name: str) -> None:
        for _ in range(400):
            try:
                if self.call(name, "ping", [], time.monotonic_ns() + 10**9, "", 0)[0] == "result":
                    return
            except (Refuse, OSError):
                pass
            time.sleep(0.05)
        sys.stderr.write("a service does not come\n" if FAULT == "does not name" else f"{name} does not come\n")
        sys.stderr.flush()
        os._exit(1)

    def accept(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.count("connections")
            with self.lock:
                self.connections.add(connection)
            if FAULT == "a thread a connection":
                self.work.put(lambda connection=connection: self.read(connection))
            else:
                threading.Thread(target=self.read, args=(connection,), daemon=True).start()

    def worker(self) -> None:
        while True:
            self.work.get()()

    def read(self, connection) -> None:
        try:
            while self.one(connection):
                pass
        except wire.Closed as error:
            if error.data:
                self.count("bad_frames")
                if FAULT == "dies of half a frame":
                    os._exit(9)
        except OSError:
            pass
        except Exception:  # whatever bytes came
            self.count("bad_frames", 0 if FAULT == "bad frames are not counted" else 1)
            if FAULT == "garbage is kept":
                time.sleep(5)
        connection.close()
        with self.lock:
            self.connections.discard(connection)

    def receive(self, connection):
        if FAULT == "frames in one piece":
            data = connection.recv(2**25)
            if not data:
                raise wire.Closed
            return wire.decode(data[4:])
        if FAULT == "frames of 1 MiB":
            (size,) = struct.unpack(">I", wire.receive(connection, 4))
            if size > 2**20:
                raise ValueError(size)
            return wire.decode(wire.receive(connection, size))
        if FAULT == "room for what is claimed":
            (size,) = struct.unpack(">I", wire.receive(connection, 4))
            body = bytearray(min(size, wire.LIMIT))
            if size > len(body) or connection.recv_into(body, flags=socket.MSG_WAITALL) < size:
                raise ValueError(size)
            return wire.decode(bytes(body))
        return wire.read(connection)

    def one(self, connection) -> bool:
        frame = self.receive(connection)
        a = time.monotonic_ns()
        name, kind, sequence, rest = self.idl.open(frame.message)
        if kind != TMessageType.CALL:
            raise ValueError(kind)
        if name != "page" or FAULT == "a thread a connection":
            return self.answer(connection, frame, a, name, sequence, rest)
        with self.lock:
            full = self.waiting >= int(self.config["queue"]) and FAULT != "no queue limit"
            self.waiting += not full
        if full:
            self.count("overloaded")
            message = self.idl.message(name, TMessageType.EXCEPTION, sequence, TApplicationException(6, "overloaded: full"))
            connection.sendall(wire.encode(wire.Frame(message, frame.headers and {"s": "0,0,0"}, frame.sequence)))
            return True
        done, result = threading.Event(), []

        def work():
            with self.lock:
                self.waiting -= 1
            try:
                result.append(self.answer(connection, frame, time.monotonic_ns() if FAULT == "no queue time" else a, name, sequence, rest))
            except Exception as error:
                result.append(error)
            done.set()

        self.work.put(work)
        done.wait()
        if isinstance(result[0], Exception):
            raise result[0]
        return result[0]

    def answer(self, connection, frame, a: int, name: str, sequence: int, rest) -> bool:
        b = time.monotonic_ns()
        if name not in ("ping", "counters", "drain", "page"):
            if FAULT == "unknown methods close":
                return False
            message = self.idl.message(name, TMessageType.EXCEPTION, sequence, TApplicationException(1, "unknown"))
            connection.sendall(wire.encode(wire.Frame(message, frame.headers and {"s": "0,0,0"}, frame.sequence)))
            return True
        arguments, result = self.idl.method("Reviews", name)
        values, headers = rest(arguments), frame.headers or {}
        c, outcome, span = time.monotonic_ns(), 0, random.getrandbits(64) or 1
        kind, body = TMessageType.REPLY, None
        try:
            if name == "ping":
                body = result(success=time.time_ns() if FAULT == "another clock" else time.monotonic_ns())
            elif name == "counters":
                with self.lock:
                    body = result(success=dict(self.counts))
            elif name == "drain":
                self.ending.set()
                body = result()
            else:
                self.count("requests", 2 if FAULT == "counts twice" else 1)
                body, outcome = self.page(values, headers, a, span, result)
        except self.idl.types.Refused as refused:
            self.count("refused")
            body, outcome = result(refused=refused), 1
        except Refuse as error:
            outcome = 3 if str(error).startswith("deadline") else 2
            self.count("deadline" if outcome == 3 else "errors")
            kind, body = TMessageType.EXCEPTION, TApplicationException(6, str(error))
        d = time.monotonic_ns()
        message = self.idl.message(name, kind, sequence, body)
        out = None
        if frame.headers is not None or FAULT == "header for plain":
            out = {} if FAULT == "no times" else {"s": f"{b - a},{10**15 if FAULT == 'long times' else d - c},0"}
        e = time.monotonic_ns()
        data = wire.encode(wire.Frame(message, out, 0 if FAULT == "sequence" else frame.sequence))
        gone = None
        try:
            connection.sendall(data)
        except OSError as error:
            gone = error
        if gone and FAULT == "forgets who is gone":
            raise gone
        if name == "page":
            self.count("queue_ns", b - a)
            self.count("application_ns", d - c)
            trace = trace_of(headers)
            if trace and (trace[-1] == "1" or FAULT == "all are traced") and FAULT != "no server span":
                parent = 1 if FAULT == "parent" else int(trace[36:52], 16)
                stamps = (a, b, c, d, e, time.monotonic_ns())
                self.span(0, 0, 0, outcome, 0, trace, span, parent, stamps[::-1] if FAULT == "stamps" else stamps, frame.size, len(data))
        if gone:
            raise gone
        return True

    def span(self, peer, method, kind, outcome, flags, trace, span, parent, stamps, size_in, size_out) -> None:
        if not self.spans or not trace or trace[-1] != "1" and FAULT != "all are traced":
            return
        self.count("spans")
        self.spans.write(struct.pack("<IHHHHBBH16sQQ6QQII16x", 0x314E5053, int(self.config["id"]), 0, peer, method, kind, outcome, flags,
                                     bytes.fromhex(trace[3:35]), span, parent, *stamps, 0, size_in, size_out))

    # ---- the handler

    def page(self, values, headers: dict, a: int, span: int, result):
        left = headers.get("d", "2000")
        end = a + int(left) * 10**6
        if time.monotonic_ns() >= end and FAULT != "no deadlines":
            raise Refuse("deadline: spent")
        if not 0 <= values.n <= 100 or values.start < 0 or values.movie < 1:
            self.count("refused")
            return result(refused=self.idl.types.Refused(400, f"movie {values.movie}, start {values.start}, n {values.n}")), 1
        trace = trace_of(headers)
        ids = self.good("movie-review", "page", [values.movie, values.start, values.n], end, trace, span)
        got = self.good("review-storage", "readMany", [ids], end, trace, span) if ids else []
        return result(success=[self.idl.to_thrift(12, (self.idl.types.Review, None), one) for one in got]), 0

    def good(self, service, method, arguments, end, trace, span):
        kind, *value = self.call(service, method, arguments, end, trace, span)
        if kind == "refused":
            raise self.idl.types.Refused(self.idl.enums[value[0]["code"]], value[0]["what"])
        if kind == "exception" and value[1].startswith("overloaded: ") and FAULT != "wraps overload":
            raise Refuse(f"overloaded: {service}: {value[1].removeprefix('overloaded: ')}")
        if kind != "result":
            raise Refuse("broken" if FAULT == "another refusal" else f"unavailable: {service} answered {value}")
        return value[0]

    def call(self, service, method, arguments, end, trace, parent):
        number, idl_service, methods = CALLEES[service]
        client, edge = random.getrandbits(64) or 1, f"edge.{service}.{method}"
        a, tries, outcome = time.monotonic_ns(), 0, 2
        took = {"stamps": (a, a, a, a, a)}
        try:
            while True:
                tries += 1
                try:
                    answer = self.ask(service, idl_service, method, arguments, end, trace, client, a, took)
                    outcome = 0 if answer[0] == "result" else 1
                    return answer
                except TimeoutError as error:
                    outcome = 3
                    if FAULT != "asks again in time-outs" or tries > 1:
                        raise Refuse(f"deadline: {service}") from error
                except (wire.Closed, OSError) as error:
                    if tries > (0 if FAULT == "never asks again" else 3 if FAULT == "asks often" else 1):
                        raise Refuse(f"unavailable: {service}: {error}") from error
                    self.count("retries")
        finally:
            if method != "ping":
                self.count(f"{edge}.calls")
                self.count(f"{edge}.errors", int(outcome in (2, 3)))
                wall = time.monotonic_ns() - a
                self.count(f"{edge}.ns", wall)
                self.histograms(edge, wall, took)
            if trace and method != "ping" and FAULT != "no client span":
                stamps = (*took["stamps"], time.monotonic_ns())
                if FAULT == "waits elsewhere":
                    stamps = (*stamps[:3], stamps[4], stamps[4], stamps[5])
                self.span(number, methods[method], 1, outcome, int(tries > 1), trace, client, parent, stamps, 0, 0)

    def histograms(self, edge: str, wall: int, took: dict) -> None:
        if FAULT == "no histograms":
            return
        self.count(f"{edge}.wall.{vectors.bucket(wall)}")
        times = TIMES.fullmatch(took.get("times", ""))
        for kind, ns in zip(("queue", "application", "cpu"), times.groups() if times else ()):
            self.count(f"{edge}.{kind}.{vectors.bucket(int(ns)) + (FAULT == 'another bucket')}")

    def ask(self, service, idl_service, method, arguments, end, trace, client, a, took):
        with self.pools[service]:
            b = a if FAULT == "no pool wait" else time.monotonic_ns()
            return self.exchange(service, idl_service, method, arguments, end, trace, client, (a, b), took)

    def exchange(self, service, idl_service, method, arguments, end, trace, client, began, took):
        host, port = self.config[f"upstream.{service}"].rsplit(":", 1)
        left = (end - time.monotonic_ns()) // 10**6
        if FAULT in ("no deadlines", "asks again in time-outs"):
            left = 2000 if FAULT == "no deadlines" else left // 3
        if left <= 0:
            raise TimeoutError
        headers = {"d": "2000" if FAULT == "passes no deadline" else str(max(0, left - 1))}
        if trace:
            headers["traceparent"] = f"{trace[:36]}{client:016x}{trace[52:]}"
        with socket.create_connection((host, int(port)), left / 1000) as connection:
            connection.settimeout(None if FAULT == "waits for ever" else left / 1000)
            data = wire.encode(wire.Frame(self.idl.call(idl_service, method, 1, arguments), headers, 1))
            c = time.monotonic_ns()
            connection.sendall(data)
            d = time.monotonic_ns()
            took["stamps"] = (*began, c, d, d)
            frame = wire.read(connection)
            took["stamps"] = (*began, c, d, time.monotonic_ns())
            took["times"] = (frame.headers or {}).get("s", "")
            return self.idl.answer(idl_service, frame.message)[2]


def read_config(file: str) -> dict:
    config = {}
    for line in pathlib.Path(file).read_text().splitlines():
        key, _, value = line.partition("=")
        if key not in KEYS and not (FAMILIES.fullmatch(key) and FAULT != "few keys") and FAULT != "any key":
            sys.exit(f"`{key}` is not a key")
        config[key] = value
    for key in KEYS:
        if key not in config:
            sys.exit(f"`{key}` is missing")
    return config


def main() -> None:
    config = read_config(sys.argv[1])
    service = None

    def end():
        signal.sigwait({signal.SIGTERM})
        if service is None or FAULT == "ends at once":
            os._exit(0)
        service.ending.set()

    # Not by a handler, which would wait for the main thread.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=end, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        idl = Idl(CONTRACT.parent / "idl" / "movies.thrift", pathlib.Path(folder) / "idl")
        for one in CALLEES.values():
            idl.method(one[1], "ping")
        idl.method("Reviews", "page")
    service = StandIn(config, idl)
    service.serve()


if __name__ == "__main__":
    main()
