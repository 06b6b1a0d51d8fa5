"""What a request brings besides its arguments: how long it may take, and where it belongs in a trace."""

import re
import time
from dataclasses import dataclass

# Time limit of a request that names none. Source: the contract of the application. Units: ms.
USUAL_LIMIT = 2000
# A day: longer limits have no effect and would overflow some clocks. Units: ms.
LONGEST_LIMIT = 86_400_000
TRACEPARENT = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
LIMIT = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class Context:
    """CLOCK_MONOTONIC. Units: ns."""

    end: int
    """None where no spans are wanted."""
    trace: bytes | None = None
    parent: int = 0

    @classmethod
    def of(cls, headers: dict | None, arrived: int) -> "Context":
        headers = headers or {}
        limit = headers.get("d", "")
        ms = min(int(limit), LONGEST_LIMIT) if LIMIT.fullmatch(limit) else USUAL_LIMIT
        end = arrived + ms * 1_000_000
        traced = TRACEPARENT.fullmatch(headers.get("traceparent", ""))
        if not traced or not int(traced[3], 16) & 1 or not int(traced[1], 16) or not int(traced[2], 16):
            return cls(end)
        return cls(end, bytes.fromhex(traced[1]), int(traced[2], 16))

    def is_spent(self) -> bool:
        return time.monotonic_ns() >= self.end
