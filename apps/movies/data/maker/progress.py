"""How far it is, on standard error: a bar on a terminal, lines otherwise."""

import sys
import time

WIDTH = 30
"""Columns of the bar."""
EACH_S = 5.0
"""How often a stage that takes long says a line where there is no terminal."""


class Progress:
    """What is told of each stage."""

    def __init__(self, quiet: bool):
        self.quiet = quiet
        self.bar = not quiet and sys.stderr.isatty()
        self.name = ""
        self.began = self.told = 0.0

    def begin(self, name: str) -> None:
        """A stage begins."""
        self.name, self.began, self.told = name, time.monotonic(), time.monotonic()
        self.at(0, 1)

    def at(self, done: int, of: int) -> None:
        """So much of the stage is done."""
        if self.quiet:
            return
        now = time.monotonic()
        if self.bar:
            filled = WIDTH * done // max(of, 1)
            self._put(f"\r{self.name:<10} [{'#' * filled:<{WIDTH}}] {100 * done // max(of, 1):3d} %\x1b[K")
        elif done and now - self.told >= EACH_S:
            self.told = now
            self._put(f"{self.name}: {100 * done // max(of, 1)} %\n")

    def end(self, what: str = "") -> None:
        """The stage is done."""
        if self.quiet:
            return
        took = time.monotonic() - self.began
        self._put(f"{self._head()}{self.name}: {what or 'done'} in {took:.1f} s\n")

    def skipped(self, name: str) -> None:
        """The stage was done by an earlier run."""
        if not self.quiet:
            self._put(f"{name}: is there\n")

    def say(self, text: str) -> None:
        """A line of its own."""
        if not self.quiet:
            self._put(f"{self._head()}{text}\n")

    def _head(self) -> str:
        return "\r\x1b[K" if self.bar else ""

    def _put(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
