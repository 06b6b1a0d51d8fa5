"""Interval logs of HdrHistogram (`.hlog`), as the Rust program writes and reads them.

The format is version 1.3 of the log with histograms in the V2 encoding: base64 of a header and a zlib
stream, which holds a header of 40 bytes and counters as zigzag LEB128; a negative counter is a run of
empty cells.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from bisect import bisect_left
from math import ceil, floor, log10
from pathlib import Path

from .errors import DamagedError
from .records import Summary

_COMPRESSED, _PLAIN, _HEADER = 0x1C849314, 0x1C849313, 40
#: Bytes of one histogram, inflated; samples of one histogram. Source: `crates/hist/src/hlog/decode.rs`.
_LARGEST, _MOST_SAMPLES = 64 << 20, 1 << 50
#: Samples that must lie beyond a percentile. Source: `MIN_BEYOND` in `crates/hist/src/rank.rs`.
MIN_BEYOND = 10


@dataclass(frozen=True)
class Histogram:
    """Counts by value. Units: as recorded, ns in Taillight's logs.

    `cells` are the highest value of each cell that holds samples, and its count.
    """

    cells: list[tuple[int, int]]
    #: The lowest value of each of these cells.
    lowest: list[int]

    @property
    def count(self) -> int:
        """Number of samples."""
        return self._sums[-1] if self._sums else 0

    @cached_property
    def _sums(self) -> list[int]:
        return list(accumulate(count for _, count in self.cells))

    @property
    def max(self) -> int | None:
        """The highest value, to the precision of its cell."""
        return self.cells[-1][0] if self.cells else None

    @property
    def mean(self) -> float | None:
        """The mean, of the middles of the cells."""
        if not self.cells:
            return None
        pairs = zip(self.lowest, self.cells, strict=True)
        return sum((low + high + 1 >> 1) * count for low, (high, count) in pairs) / self.count

    def value_at(self, percentile: float) -> int | None:
        """The value at a percentile from 0 to 100; `None` without samples."""
        rank = _rank(percentile, self.count)
        return None if rank is None else self.cells[bisect_left(self._sums, rank)][0]

    def percentile(self, percentile: float) -> int | None:
        """The same; also `None` if fewer than 10 samples lie beyond it."""
        rank = _rank(percentile, self.count)
        if rank is None or self.count - rank < MIN_BEYOND:
            return None
        return self.value_at(percentile)

    def summary(self) -> Summary:
        """The figures in µs, of a histogram in ns."""

        def us(value: float | None) -> float | None:
            return None if value is None else value / 1000

        at = self.percentile
        return Summary(
            self.count, us(None if self.mean is None else floor(self.mean + 0.5)), us(at(50)), us(at(90)), us(at(95)),
            us(at(99)), us(at(99.9)), us(at(99.99)), us(self.max),
        )  # fmt: skip


@dataclass(frozen=True)
class Interval:
    """One line of a log. Starts count from `Log.base_s`."""

    tag: str | None
    start_s: float
    duration_s: float
    histogram: Histogram


@dataclass(frozen=True)
class Log:
    """A whole log."""

    comments: list[str]
    base_s: float | None
    intervals: list[Interval]

    def merged(self, tag: str | None) -> Histogram:
        """The sum of the intervals with this tag."""
        counts: dict[tuple[int, int], int] = {}
        for interval in self.intervals:
            if interval.tag == tag:
                of = interval.histogram
                for low, (high, count) in zip(of.lowest, of.cells, strict=True):
                    counts[low, high] = counts.get((low, high), 0) + count
        cells = sorted(counts.items())
        return Histogram([(high, count) for (_, high), count in cells], [low for (low, _), _ in cells])


def read_hlog(path: str | Path) -> Log:
    """Reads a log of Taillight or of another program. Raises `DamagedError` with the line."""
    return parse_hlog(Path(path).read_bytes(), str(path))


def parse_hlog(text: bytes, name: str) -> Log:
    """Reads a log from its bytes; `name` is for errors."""
    comments: list[str] = []
    intervals: list[Interval] = []
    base, promised, line = None, None, 0
    for line, words in enumerate(text.splitlines(keepends=True), 1):
        try:
            if not words.endswith(b"\n"):
                raise ValueError("it has no end")
            row = words.decode("utf-8", "replace").strip()
            if row.startswith("#[Intervals: "):
                promised = int(row[13:].rstrip("]"))
            elif row.startswith("#[BaseTime: "):
                base = float(row[12:].split()[0])
            elif row.startswith("#[") or row.startswith('"StartTimestamp"') or not row:
                continue
            elif row.startswith("#"):
                comments.append(row[1:])
            else:
                intervals.append(_interval(row))
        except (ValueError, IndexError, struct.error, zlib.error) as error:
            raise _damaged(name, line, str(error)) from None
    if promised is not None and promised != len(intervals):
        said = f"the log ends after {len(intervals)} of {promised} intervals"
        raise _damaged(name, line, said)
    if promised is None and not intervals:
        raise _damaged(name, line, "there is no interval")
    return Log(comments, base, intervals)


def _damaged(name: str, line: int, problem: str) -> DamagedError:
    return DamagedError(
        f"{name}: histogram log, line {line}: {problem}; "
        "the file is damaged or no HdrHistogram interval log"
    )


def _interval(row: str) -> Interval:
    tag = None
    if row.startswith("Tag="):
        tag, _, row = row[4:].partition(",")
    fields = row.split(",")
    if len(fields) != 4:
        raise ValueError("it is neither a comment nor an interval")
    return Interval(tag, float(fields[0]), float(fields[1]), decode(fields[3]))


def decode(text: str) -> Histogram:
    """Decodes one histogram. Raises `ValueError` with the defect."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"the histogram is not base64 ({error})") from None
    cookie, length = struct.unpack_from(">II", data.ljust(8, b"\0"))
    if cookie == _COMPRESSED:
        if length != len(data) - 8:
            raise ValueError("the histogram was cut short")
        stream = zlib.decompressobj()
        data = stream.decompress(data[8:], _LARGEST)
        if not stream.eof:
            raise ValueError("the histogram cannot be inflated")
    elif cookie != _PLAIN:
        raise ValueError("the histogram is not in the V2 format")
    if len(data) < _HEADER:
        raise ValueError("the histogram ends within its header")
    head = struct.unpack_from(">IIIIQQd", data)
    inner, payload, _, digits, lowest, highest, _ = head
    if inner != _PLAIN or payload != len(data) - _HEADER:
        raise ValueError("the histogram's length is not the one in its header")
    if not (digits <= 5 and 1 <= lowest < 1 << 63 and 2 * lowest <= highest < 1 << 64):
        raise ValueError("the histogram's precision or range is impossible")
    unit = floor(log10(lowest) / log10(2)) if lowest > 1 else 0
    bits = ceil(log10(2 * 10**digits) / log10(2)) if digits else 1
    half = 1 << (bits - 1)
    cells: list[tuple[int, int]] = []
    low_ends: list[int] = []
    total = 0
    for index, count in _counters(data):
        bucket, within = (index >> (bits - 1)) - 1, (index & (half - 1)) + half
        if bucket < 0:
            bucket, within = 0, within - half
        start, width = within << (bucket + unit), 1 << (bucket + unit)
        if start >= 1 << 64:
            raise ValueError("the histogram holds more counters than its range")
        total += count
        if total > _MOST_SAMPLES:
            raise ValueError("the histogram holds a counter out of range")
        low_ends.append(start)
        cells.append((start + width - 1, count))
    return Histogram(cells, low_ends)


def _counters(data: bytes) -> list[tuple[int, int]]:
    """Index and count of every counter that is not 0."""
    found = []
    at, index = _HEADER, 0
    while at < len(data):
        word, shift = 0, 0
        while True:
            if at == len(data):
                raise ValueError("the histogram ends within a counter")
            byte = data[at]
            at += 1
            # The ninth byte has all its eight bits.
            if shift == 56:
                word |= byte << shift
                break
            word |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        count = (word >> 1) ^ -(word & 1)
        if count < 0:
            index += -count
        else:
            if count:
                found.append((index, count))
            index += 1
        if index > 1 << 24:
            raise ValueError("the histogram holds more counters than its range")
    return found


def _rank(percentile: float, n: int) -> int | None:
    # As `crates/hist/src/rank.rs`: the ceiling alone is wrong in floating point.
    if n == 0 or percentile != percentile:
        return None
    exact = min(max(percentile, 0.0), 100.0) * n / 100
    nearest = round(exact)
    rank = nearest if abs(exact - nearest) <= exact * 1e-12 else ceil(exact)
    return min(max(int(rank), 1), n)
