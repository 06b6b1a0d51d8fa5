"""Configuration, readiness, and the end."""

import signal
import time

import children
import wire
from common.probe import case, flush, good, prepared, probe, Skip
from service import port_is_free

# Longest wait for any event. Units: s.
PATIENCE = 5.0


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


@case("answers where it is to have no cache")
def _(s):
    if not s.caches:
        raise Skip("it has no cache")
    process = s.start(**{f"cache.{name}": "none" for name in s.caches})
    try:
        return good(s, probe(s, process=process))
    finally:
        process.close()


@case("takes every key that the contract names, and empty ones as none")
def _(s):
    used = "127.0.0.1:1"
    changes = {"optional": ",".join((*s.optional, "spare")), "upstream.spare": used, "call.spare.deadline_ms": 20}
    changes |= {"cache.spare": used, "store.spare": "postgresql://spare@/spare?host=/spare&port=1"}
    changes |= {"upstream.empty": "", "call.empty.deadline_ms": "", "cache.empty": "", "store.empty": ""}
    for more in (changes, {} if s.optional else {"optional": ""}):
        process = s.start(**more)
        try:
            wrong = good(s, probe(s, process=process))
        finally:
            process.close()
        if wrong:
            return wrong
    return []


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
        method, arguments = prepared(s, process)
        if s.upstreams:
            s.fakes.gate.clear()
        elif s.stores:
            flush(s)
            locks = [s.world.postgres.lock(domain) for domain in s.stores]
        with process.connect() as connection, process.connect() as idle:
            data = connection.frame(method, arguments, {"d": "5000"}, 11)
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
                answer = connection.read(0, len(data), 11, method, False)
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


@case("answers what it has received when it ends")
def _(s):
    process, connections, wrong = s.start(), [], []
    try:
        asked = [prepared(s, process) for _ in range(4)]
        connections = [process.connect() for _ in asked]
        for connection in connections:
            connection.call("ping", [])
        with process.stopped():
            # The service may learn of its end before it reads, and must not close a connection with unread requests.
            process.process.send_signal(signal.SIGTERM)
            sent = [connection.send(*one) for connection, one in zip(connections, asked)]
        for place, (connection, one) in enumerate(zip(connections, sent)):
            try:
                wrong += good(s, connection.receive(one), f"request {place}")
            except (wire.Closed, OSError) as error:
                wrong.append(f"request {place} was received before it ended, and not answered: {error}")
        code = process.ended(PATIENCE)
        return wrong if code == 0 else [*wrong, f"exit code {code}; standard error: {process.errors()[-300:]}"]
    finally:
        for connection in connections:
            connection.socket.close()
        process.close()
