"""Spans of sampled requests: records of 128 bytes, appended whole to the file of this process. None is dropped.

Only server spans: the services in Python call no others.
"""

import collections
import os
import pathlib
import random
import struct
import threading
import time

FILE_MAGIC = 0x31485053
SPAN_MAGIC = 0x314E5053
FILE = struct.Struct("<IHHH6x36s4xqQ56x")
SPAN = struct.Struct("<IHHHHBBH16sQQ6QQII16x")
assert FILE.size == SPAN.size == 128
SERVER = 0
OK, REFUSED, FAILED, DEADLINE = range(4)
# How long a span waits to be written at most. Units: s.
FLUSH = 0.1


class Spans:
    """Kept in memory until they are flushed, by a thread of its own or at the end."""

    def __init__(self, file: str, service: int, instance: int):
        self._service, self._instance = service, instance
        self._waiting = collections.deque()
        self._flushing = threading.Lock()
        self._file = None
        if file:
            self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip().encode()
            offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.monotonic_ns()
            os.write(self._file, FILE.pack(FILE_MAGIC, 1, service, instance, boot, offset, os.getpid()))
            threading.Thread(target=self._flush_often, name="spans", daemon=True).start()

    def server(self, context, method: int, outcome: int, stamps: tuple, cpu: int, size_in: int, size_out: int) -> bool:
        """Whether it is kept: only those of sampled requests are."""
        if self._file is None or context.trace is None:
            return False
        span = random.getrandbits(64) or 1
        self._waiting.append(
            SPAN.pack(SPAN_MAGIC, self._service, self._instance, 0, method, SERVER, outcome, 0,
                      context.trace, span, context.parent, *stamps, cpu, size_in, size_out))
        return True

    def flush(self) -> None:
        with self._flushing:
            records = [self._waiting.popleft() for _ in range(len(self._waiting))]
            data = memoryview(b"".join(records))
            while data:
                data = data[os.write(self._file, data) :]

    def close(self) -> None:
        if self._file is not None:
            self.flush()

    def _flush_often(self) -> None:
        while True:
            time.sleep(FLUSH)
            self.flush()
