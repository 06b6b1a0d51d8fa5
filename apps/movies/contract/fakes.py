"""Fakes of the services that the one under test calls: they answer what is set, and keep what they were asked."""

import itertools
import socket
import threading
import time
from dataclasses import dataclass, field

import wire
from thrift.Thrift import TApplicationException, TMessageType
from values import differences, make

KINDS = ("result", "refused", "exception", "close", "hang")
# Queue, application and processor time in the answers of fakes.
TIMES = "1000,2000,3000"


@dataclass
class Called:
    service: str
    replica: int
    method: str
    arguments: dict
    headers: dict
    began: int
    ended: int = 0
    answered: str = ""


@dataclass
class Rule:
    service: str
    method: str
    arguments: object
    kind: str
    value: object
    delay: float
    left: float

    @classmethod
    def of(cls, table: dict):
        kinds = [kind for kind in KINDS if kind in table]
        if len(kinds) != 1:
            raise ValueError(f"[[upstream]] of {table.get('service')}: exactly one of {', '.join(KINDS)}; it has {kinds}")
        unknown = set(table) - {*KINDS, "service", "method", "arguments", "delay_ms", "times"}
        if unknown:
            raise ValueError(f"[[upstream]] of {table['service']}: `{unknown.pop()}` is not a key")
        return cls(table["service"], table["method"], table.get("arguments"), kinds[0], table[kinds[0]],
                   table.get("delay_ms", 0) / 1000, table.get("times", float("inf")))


@dataclass
class Fake:
    service: str
    replica: int
    port: int
    listener: socket.socket = None
    connections: set = field(default_factory=set)


class Fakes:
    def __init__(self, idl, registry: dict, wanted: dict):
        """`wanted`: how many replicas of each service."""
        self._idl, self._registry = idl, registry
        self._lock = threading.Lock()
        self.rules, self.env, self.calls = [], None, []
        # By service: faults that replace its rules.
        self.faults = {}
        # By service: how much longer an answer takes. Units: s.
        self.delays = {}
        # The header `s` of answers; None: they have none.
        self.times = TIMES
        # Services that do not answer ping.
        self.silent = set()
        self._release = threading.Event()
        # Set while calls may be answered.
        self.gate = threading.Event()
        self.gate.set()
        self._fakes = {}
        for service, replicas in wanted.items():
            for replica in range(replicas):
                fake = Fake(service, replica, 0)
                self._fakes[service, replica] = fake
                self._listen(fake)

    def addresses(self, service: str) -> str:
        return ",".join(f"127.0.0.1:{fake.port}" for (name, _), fake in sorted(self._fakes.items()) if name == service)

    def reset(self, rules: list, env) -> None:
        """Other answers from now on; what hangs is let go."""
        self._release.set()
        with self._lock:
            self.rules, self.env, self.calls = rules, env, []
            self.faults, self.delays, self.silent, self.times = {}, {}, set(), TIMES
            self._release = threading.Event()
        self.gate.set()

    def let_go(self) -> None:
        """Ends what hangs; what is asked from now on hangs again."""
        with self._lock:
            release, self._release = self._release, threading.Event()
        release.set()

    def seen(self, traces=None) -> list:
        """The calls since `reset`; only those that belong to one of the requests with these traces."""
        with self._lock:
            return [call for call in self.calls if traces is None or call.headers.get("traceparent", "")[3:35] in traces]

    def fall(self, service: str) -> None:
        """Nothing listens any more, and connections are closed."""
        for fake in self._of(service):
            with self._lock:
                listener, fake.listener = fake.listener, None
                connections, fake.connections = fake.connections, set()
            if listener:
                _close(listener)
            for connection in connections:
                _close(connection)

    def rise(self, service: str) -> None:
        for fake in self._of(service):
            if not fake.listener:
                self._listen(fake)

    def rise_all(self) -> None:
        for service, _ in self._fakes:
            self.rise(service)

    def close(self) -> None:
        self._release.set()
        self.gate.set()
        for service, _ in self._fakes:
            self.fall(service)

    def _of(self, service: str) -> list:
        return [fake for (name, _), fake in self._fakes.items() if name == service]

    def _listen(self, fake: Fake) -> None:
        fake.listener = socket.create_server(("127.0.0.1", fake.port), backlog=256)
        fake.port = fake.listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(fake, fake.listener), daemon=True).start()

    def _accept(self, fake: Fake, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                fake.connections.add(connection)
                alive = fake.listener is listener
            if alive:
                threading.Thread(target=self._serve, args=(fake, connection), daemon=True).start()
            else:
                _close(connection)

    def _serve(self, fake: Fake, connection: socket.socket) -> None:
        try:
            while True:
                frame = wire.read(connection)
                answer = self._answer(fake, frame)
                if answer is None:
                    return
                headers = None if frame.headers is None else {} if self.times is None else {"s": self.times}
                connection.sendall(wire.encode(wire.Frame(answer, headers, frame.sequence)))
        except (OSError, wire.Closed):
            pass
        except Exception as error:  # the service's message is at fault: a case that checks the calls reports it
            with self._lock:
                self.calls.append(Called(fake.service, fake.replica, "?", {}, {}, time.monotonic_ns(), answered=f"bad request: {error!r}"))
        finally:
            with self._lock:
                fake.connections.discard(connection)
            _close(connection)

    def _answer(self, fake: Fake, frame: wire.Frame):
        """The message of the answer; None where the connection is to be closed."""
        idl, service = self._idl, self._registry[fake.service]["idl"]
        name, _, sequence, rest = idl.open(frame.message)
        arguments_class, result_class = idl.method(service, name)
        arguments = idl.to_plain(rest(arguments_class))
        if name == "ping":
            release = self._release
            if fake.service in self.silent:
                release.wait()
                return None
            return idl.message(name, TMessageType.REPLY, sequence, result_class(success=time.monotonic_ns()))
        called = Called(fake.service, fake.replica, name, arguments, frame.headers or {}, time.monotonic_ns())
        with self._lock:
            self.calls.append(called)
            release = self._release
            rule = self._rule(fake, name, arguments)
        called.answered = rule.kind
        self.gate.wait()
        delay = rule.delay + self.delays.get(fake.service, 0)
        if delay:
            release.wait(delay)
        if rule.kind == "hang":
            release.wait()
        try:
            if rule.kind in ("hang", "close"):
                return None
            if rule.kind == "exception":
                return idl.message(name, TMessageType.EXCEPTION, sequence, TApplicationException(TApplicationException.INTERNAL_ERROR, rule.value))
            if rule.kind == "refused":
                code, what = (rule.value["code"], rule.value.get("what", "")) if isinstance(rule.value, dict) else (rule.value, "a fake refuses")
                return idl.message(name, TMessageType.REPLY, sequence, idl.refusal(service, name, code, what))
            return idl.message(name, TMessageType.REPLY, sequence, idl.result(service, name, make(rule.value, self.env)))
        finally:
            called.ended = time.monotonic_ns()

    def _rule(self, fake: Fake, name: str, arguments: dict) -> Rule:
        fault = self.faults.get(fake.service)
        if fault:
            return Rule(fake.service, name, None, *fault, 0, 1)
        for rule in self.rules:
            if (rule.service, rule.method) == (fake.service, name) and rule.left > 0 and self._fits(fake, name, rule.arguments, arguments):
                rule.left -= 1
                return rule
        return Rule(fake.service, name, None, "exception", f"no [[upstream]] fits {fake.service}.{name}({arguments})", 0, 1)

    def _fits(self, fake: Fake, name: str, wanted, arguments: dict) -> bool:
        return wanted is None or not differences(self.by_name(fake.service, name, wanted), arguments, self.env, partial=True)

    def by_name(self, service: str, name: str, wanted):
        if isinstance(wanted, dict):
            return wanted
        fields = self._idl.fields(self._idl.method(self._registry[service]["idl"], name)[0])
        return dict(zip((entry[2] for entry in fields), wanted))


def _close(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    one.close()
