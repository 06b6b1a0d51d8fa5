"""Counts since the start, by name."""

import threading

NAMES = ("requests", "errors", "refused", "deadline", "overloaded", "degraded", "retries", "bad_frames",
         "connections", "spans", "queue_ns", "application_ns", "cpu_ns")


class Counters:
    def __init__(self):
        self._lock = threading.Lock()
        self._values = dict.fromkeys(NAMES, 0)

    def add(self, **amounts: int) -> None:
        with self._lock:
            for name, amount in amounts.items():
                self._values[name] += amount

    def all(self) -> dict:
        with self._lock:
            return dict(self._values)
