"""Serves connections: one thread for each, up to a limit; some more wait; the rest are refused."""

import queue
import selectors
import socket
import struct
import threading
import time

from chassis.frame import LIMIT, BadFrame, parse

# How long the rest of a frame may take once it has begun, and an answer to be read, so that a thread is not kept. Units: s.
REST_OF_FRAME = 10.0
# How long a connection for which there is no room has for its request, which is then refused. Units: s.
REFUSAL = 0.1
# Connections that wait to be refused; beyond, they are closed without an answer.
REFUSALS = 256


def receive(connection: socket.socket, size: int) -> bytes | None:
    """`size` bytes; None where the connection ends before."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        got = connection.recv_into(view)
        if got == 0:
            return None
        view = view[got:]
    return bytes(data)


def read_frame(connection: socket.socket, rest: float) -> bytes | None:
    """What follows the length; None where the connection has ended. Errors: BadFrame."""
    start = connection.recv(4)
    if not start:
        return None
    connection.settimeout(rest)
    try:
        if len(start) < 4:
            more = receive(connection, 4 - len(start))
            if more is None:
                raise BadFrame("the connection ended within a length")
            start += more
        (size,) = struct.unpack(">I", start)
        if not 1 <= size <= LIMIT:
            raise BadFrame(f"a frame of {size} bytes; the limit is {LIMIT}")
        body = receive(connection, size)
        if body is None:
            raise BadFrame("the connection ended within a frame")
        return body
    except TimeoutError as error:
        raise BadFrame(f"the rest of a frame did not come within {rest} s") from error
    finally:
        connection.settimeout(None)


class Server:
    def __init__(self, config, requests, spans, counters, log):
        self._config, self._requests, self._spans, self._counters, self._log = config, requests, spans, counters, log
        self._waiting = queue.SimpleQueue()
        self._refused = queue.Queue(REFUSALS)
        self._lock = threading.Lock()
        # Connections that are served or wait.
        self._taken = 0
        # Those whose thread waits for their next request.
        self._idle = set()
        self._draining = False
        family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
        self._listener = socket.create_server((config.host, config.port), family=family, backlog=1024)
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._workers = [threading.Thread(target=self._work, daemon=True) for _ in range(config.threads)]

    def start(self) -> None:
        for thread in self._workers:
            thread.start()
        threading.Thread(target=self._refuse, daemon=True).start()
        self._acceptor.start()

    def drain(self, limit: float) -> None:
        """No new connections; requests that have arrived are answered, for `limit` seconds at most."""
        end = time.monotonic() + limit
        with self._lock:
            self._draining = True
            for connection in self._idle:
                # What has arrived can still be read, then comes the end.
                _shut(connection, socket.SHUT_RD)
        _shut(self._listener, socket.SHUT_RDWR)  # wakes `_accept`
        self._acceptor.join(max(0.0, end - time.monotonic()))
        self._listener.close()
        for _ in self._workers:
            self._waiting.put(None)
        for thread in self._workers:
            thread.join(max(0.0, end - time.monotonic()))
        left = sum(thread.is_alive() for thread in self._workers)
        if left:
            self._log.warn("requests were left at the end", threads=left)

    def _accept(self) -> None:
        """Takes connections, and hands each to a thread when its first request comes: only this thread sees when that is."""
        with selectors.DefaultSelector() as watched:
            watched.register(self._listener, selectors.EVENT_READ)
            while not self._draining:
                for key, _ in watched.select():
                    if key.fileobj is self._listener:
                        self._accept_one(watched)
                    else:
                        watched.unregister(key.fileobj)
                        self._waiting.put((key.fileobj, time.monotonic_ns()))
            for key in list(watched.get_map().values()):
                if key.fileobj is not self._listener:
                    key.fileobj.close()

    def _accept_one(self, watched) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if not self._draining:
                self._log.error("a connection could not be accepted", error=str(error))
                time.sleep(0.01)
            return
        self._counters.add(connections=1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            has_room = self._taken < self._config.threads + self._config.queue
            self._taken += has_room
        if has_room:
            watched.register(connection, selectors.EVENT_READ)
            return
        try:
            self._refused.put_nowait(connection)
        except queue.Full:
            connection.close()
            self._counters.add(overloaded=1)

    def _work(self) -> None:
        while (accepted := self._waiting.get()) is not None:
            connection, since = accepted
            try:
                self._serve(connection, since, time.monotonic_ns())
            except BadFrame as error:
                self._counters.add(bad_frames=1)
                self._log.warn("a connection is closed", why=str(error))
            except OSError:
                pass  # the caller has gone
            finally:
                connection.close()
                with self._lock:
                    self._taken -= 1

    def _serve(self, connection: socket.socket, since: int, began: int) -> None:
        """The first request came at `since`, and waited for a thread until `began`."""
        first = True
        while True:
            with self._lock:
                if self._draining:
                    _shut(connection, socket.SHUT_RD)
                self._idle.add(connection)
            try:
                body = read_frame(connection, REST_OF_FRAME)
            finally:
                with self._lock:
                    self._idle.discard(connection)
            if body is None:
                return
            arrived, dequeued = (since, began) if first else (time.monotonic_ns(),) * 2
            first = False
            answer = self._requests.answer(parse(body), arrived, dequeued)
            connection.settimeout(REST_OF_FRAME)
            connection.sendall(answer.data)
            connection.settimeout(None)
            stamps = (*answer.stamps, time.monotonic_ns())
            if answer.method is not None:
                kept = self._spans.server(answer.context, answer.method, answer.outcome, stamps, answer.cpu,
                                          len(body) + 4, len(answer.data))
                self._counters.add(spans=kept)

    def _refuse(self) -> None:
        while True:
            connection = self._refused.get()
            self._counters.add(overloaded=1)
            try:
                connection.settimeout(REFUSAL)
                body = read_frame(connection, REFUSAL)
                if body is not None:
                    connection.sendall(self._requests.overloaded(parse(body), self._config.queue))
            except BadFrame:
                self._counters.add(bad_frames=1)
            except OSError:
                pass
            finally:
                connection.close()


def _shut(connection: socket.socket, how: int) -> None:
    try:
        connection.shutdown(how)
    except OSError:
        pass  # closed already
