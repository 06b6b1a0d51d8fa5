"""Serves connections: a thread for each while there are as many; then those without a request leave theirs to others.

Some more connections than threads are taken; the rest are refused.
"""

import queue
import select
import selectors
import socket
import struct
import threading
import time

from chassis.frame import LIMIT, BadFrame, parse

# How long the rest of a frame may take once it has begun, and an answer to be read, so that a thread is not kept. Units: s.
REST_OF_FRAME = 10.0
# How long the server waits for the request of a connection that it will refuse. Units: s.
REFUSAL = 0.1
# Connections that wait to be refused; beyond, they are closed without an answer.
REFUSALS = 256
# Memory for a frame grows as it arrives, so that merely announcing a large one takes none. Units: bytes.
STEP = 64 * 2**10


def receive(connection: socket.socket, size: int) -> bytes | None:
    """`size` bytes; None where the connection ends before."""
    data = bytearray()
    while len(data) < size:
        got = connection.recv(min(STEP, size - len(data)))
        if not got:
            return None
        data += got
    return bytes(data)


def read_frame(connection: socket.socket, rest: float) -> bytes | None:
    """What follows the length; None where the connection has ended. `rest`: its time-out. Errors: BadFrame."""
    start = connection.recv(4)
    if not start:
        return None
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


class Server:
    def __init__(self, config, requests, spans, counters, log):
        self._config, self._requests, self._spans, self._counters, self._log = config, requests, spans, counters, log
        self._waiting = queue.SimpleQueue()
        self._refused = queue.Queue(REFUSALS)
        # Threads without a connection, less the connections that wait for one.
        self._free = 0
        # One byte for each connection that waits for a thread while all are busy: a thread with a silent connection
        # gives it back.
        self._wanted, self._want = socket.socketpair()
        self._wanted.setblocking(False)
        # Connections that were given back, and the signal to the thread that watches them.
        self._silent = queue.SimpleQueue()
        self._told, self._tell = socket.socketpair()
        self._lock = threading.Lock()
        # Connections that are served or wait.
        self._taken = 0
        # Connections whose thread waits for the next request.
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
                # Bytes that have arrived stay readable, followed by the end of the stream.
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
            watched.register(self._told, selectors.EVENT_READ)
            while not self._draining:
                for key, _ in watched.select():
                    if key.fileobj is self._listener:
                        self._accept_one(watched)
                    elif key.fileobj is self._told:
                        self._told.recv(4096)
                        while not self._silent.empty():
                            watched.register(self._silent.get(), selectors.EVENT_READ)
                    else:
                        self._wait(watched, key.fileobj)
            # Requests already received are still answered.
            for key, _ in watched.select(0):
                if key.fileobj not in (self._listener, self._told):
                    self._wait(watched, key.fileobj)
            for key in list(watched.get_map().values()):
                if key.fileobj is not self._listener:
                    key.fileobj.close()

    def _wait(self, watched, connection: socket.socket) -> None:
        watched.unregister(connection)
        with self._lock:
            self._free -= 1
            is_wanted = self._free < 0
        self._waiting.put((connection, time.monotonic_ns()))
        if is_wanted:
            self._want.send(b"w")

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
        connection.settimeout(REST_OF_FRAME)
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
        while True:
            with self._lock:
                self._free += 1
            accepted = self._waiting.get()
            if accepted is None:
                return
            connection, since = accepted
            is_silent = False
            try:
                is_silent = self._serve(connection, since, time.monotonic_ns())
            except BadFrame as error:
                self._counters.add(bad_frames=1)
                self._log.warn("a connection is closed", why=str(error))
            except OSError:
                pass  # the caller has gone
            finally:
                if is_silent:
                    self._silent.put(connection)
                    self._tell.send(b"s")
                else:
                    connection.close()
                    with self._lock:
                        self._taken -= 1

    def _serve(self, connection: socket.socket, since: int, began: int) -> bool:
        """The first request came at `since`, and waited for a thread until `began`. Whether it stays, without a request."""
        first, arriving = True, select.poll()
        arriving.register(connection, select.POLLIN)
        arriving.register(self._wanted, select.POLLIN)
        while True:
            with self._lock:
                if self._draining:
                    _shut(connection, socket.SHUT_RD)
                self._idle.add(connection)
            try:
                if not first and self._is_wanted(arriving):
                    return True
                body = read_frame(connection, REST_OF_FRAME)
            finally:
                with self._lock:
                    self._idle.discard(connection)
            if body is None:
                return False
            arrived, dequeued = (since, began) if first else (time.monotonic_ns(),) * 2
            first = False
            answer = self._requests.answer(parse(body), arrived, dequeued)
            connection.sendall(answer.data)
            stamps = (*answer.stamps, time.monotonic_ns())
            if answer.method is not None:
                kept = self._spans.server(answer.context, answer.method, answer.outcome, stamps, answer.cpu,
                                          len(body) + 4, len(answer.data))
                self._counters.add(spans=kept)

    def _is_wanted(self, arriving) -> bool:
        """Whether another connection wants this thread, before a request comes."""
        while True:
            if not any(descriptor == self._wanted.fileno() for descriptor, _ in arriving.poll()):
                return False
            try:
                self._wanted.recv(1)
                return True
            except BlockingIOError:
                pass  # another thread was faster

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
