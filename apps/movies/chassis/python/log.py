"""Lines of JSON on standard error, at most ten a second."""

import json
import sys
import threading
import time

MOST_A_SECOND = 10


class Log:
    def __init__(self, service: str, instance: int):
        self._who = {"service": service, "instance": instance}
        self._lock = threading.Lock()
        self._second, self._written, self._left_out = 0, 0, 0

    def info(self, msg: str, **more) -> None:
        self._write("info", msg, more)

    def warn(self, msg: str, **more) -> None:
        self._write("warn", msg, more)

    def error(self, msg: str, **more) -> None:
        self._write("error", msg, more)

    def _write(self, level: str, msg: str, more: dict) -> None:
        now = time.time()
        with self._lock:
            if int(now) != self._second:
                self._second, self._written = int(now), 0
            if self._written >= MOST_A_SECOND:
                self._left_out += 1
                return
            self._written += 1
            left_out, self._left_out = self._left_out, 0
            if left_out:
                more = {**more, "left_out": left_out}
            line = {"ts": int(now * 1000), "level": level, **self._who, "msg": msg, **more}
            print(json.dumps(line), file=sys.stderr, flush=True)
