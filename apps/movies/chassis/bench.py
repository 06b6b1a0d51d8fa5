#!/usr/bin/python3
"""What tracing costs in each chassis: processor time of a service for a request, by how it is asked.

A service of each language is asked in three ways: by a plain frame, which carries neither times nor traces; by a header frame whose
`traceparent` says that it is not sampled, as almost all requests of a run; and by one that says it is. Once with a request that the
handler refuses, so that all else is the chassis; and once with one for which it calls another service, which a fake is.

Each round has some requests of each kind, in another order each time, and differences and ratios are those within a round: what else
the machine does meets all kinds alike. The time is that which the processes of the service used (their CPU clocks), so the fake and this
program have no part in it. Printed are medians of the rounds, and in brackets what half of the rounds lie between.

bench.sh OUT [--chassis NAME]... [--rounds N] [--calls N]
"""

import argparse
import itertools
import pathlib
import signal
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "contract"))

import children  # noqa: E402
import fastcgi  # noqa: E402
import run  # noqa: E402
import wire  # noqa: E402
from subject import Subject  # noqa: E402
from values import make  # noqa: E402

TOKEN = {"TOKEN": {"user": 7}}
REFUSES = {"service": "user-auth", "method": "check", "refused": "UNAUTHORIZED"}
PUTS = {"service": "compose-review", "method": "put", "result": False}
FINDS = {"service": "search", "method": "find", "result": {"hits": [], "all": 0}}
# Of each: service, method, arguments, how the service behind it answers. Source of the budgets of an untraced request: the design of the
# application, by which 40 calls of a page stay below 0.1 % of 20 ms. Units: µs.
CHASSIS = {
    "c": (0.5, [("photos", "read", [1, 101], None), ("unique-id", "upload", [42], PUTS)]),
    "cpp": (0.5, [("review-rating", "upload", [42, 11], None), ("review-rating", "upload", [42, 9], PUTS)]),
    "java": (0.5, [("rent-movie", "rent", ["", 1, ""], None), ("rent-movie", "rent", ["x", 1, "k"], REFUSES)]),
    "go": (0.5, [("user", "upload", [42, "x"], None), ("user", "upload", [42, TOKEN], PUTS)]),
    "node": (3, [("videos", "read", [0], None), ("text", "upload", [42, "Good."], PUTS)]),
    "php": (5, [("user-auth", "check", ["x"], None), ("php", "GET /api/search?q=a", [], FINDS)]),
    "python": (5, [("ads", "pick", [0, 1, 101], None)]),
}
KINDS = ("plain", "untraced", "traced")
# Requests before any is measured, which are compiled and fill caches.
WARM = 3000


class Clock:
    """The processor time of a process and those it started, as long as they live. Units: ns."""

    def __init__(self, leader: int):
        processes = [int(one.name) for one in pathlib.Path("/proc").iterdir() if one.name.isdigit()]
        # Source of the number of a clock: clock_getcpuclockid(3) of glibc.
        self._clocks = [~pid << 3 | 2 for pid in processes if self._group(pid) == leader]

    @staticmethod
    def _group(pid: int) -> int:
        try:
            return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[2])
        except (OSError, IndexError):
            return -1

    def now(self) -> int:
        return sum(time.clock_gettime_ns(clock) for clock in self._clocks)


def traceparent(kind: str) -> dict:
    return {} if kind == "plain" else {"traceparent": wire.traceparent(b"\1" * 16, 1, kind == "traced")}


class Asking:
    """Asks a service in one of the ways; what is sent is made before."""

    def __init__(self, subject: Subject, process, method: str, arguments: list):
        self.subject, self.process = subject, process
        if subject.is_http:
            self.ask = lambda kind: fastcgi.request(process.port, method, traceparent(kind), b"", 10)
            return
        self.connection = process.connect()
        self.connection.socket.settimeout(10)
        arguments = make(arguments, subject.env)
        frames = {kind: self.connection.frame(method, arguments, {"d": "2000", **traceparent(kind)} if kind != "plain" else None, 5)
                  for kind in KINDS}

        def ask(kind):
            self.connection.socket.sendall(frames[kind])
            wire.receive(self.connection.socket, int.from_bytes(wire.receive(self.connection.socket, 4), "big"))
        self.ask = ask


def measure(world, service: str, method: str, arguments: list, rule, rounds: int, calls: int) -> list:
    """By round: the processor time of a request of each kind. Units: µs."""
    subject = Subject(world, service, pathlib.Path(run.HERE.parent / "services" / service / "contract.toml"))
    process = None
    try:
        subject.reset({"upstream": [rule] if rule else []})
        process = subject.start(threads=1)
        asking, clock = Asking(subject, process, method, arguments), Clock(process.process.pid)
        for _ in range(WARM):
            asking.ask("untraced")
        taken = []
        for order in itertools.islice(itertools.cycle(itertools.permutations(KINDS)), rounds):
            took = {}
            for kind in order:
                before = clock.now()
                for _ in range(calls):
                    asking.ask(kind)
                took[kind] = (clock.now() - before) / calls / 1000
            taken.append(took)
        return taken
    finally:
        if process:
            process.close()
        subject.close()


def spread(values: list, form: str) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:{form}} [{low:{form}} {high:{form}}]"


def row(name: str, what: str, budget: float, taken: list) -> list:
    cost = statistics.median(took["untraced"] - took["plain"] for took in taken)
    return [
        name, what, *(f"{statistics.median(took[kind] for took in taken):.2f}" for kind in KINDS),
        spread([took["untraced"] - took["plain"] for took in taken], ".2f"), f"{budget:g}{'' if cost <= budget else ' (over)'}",
        spread([took["traced"] / took["untraced"] for took in taken], ".3f"),
    ]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", type=pathlib.Path, required=True, help="folder with bin/movies-NAME")
    options.add_argument("--chassis", action="append", choices=CHASSIS, metavar="NAME")
    options.add_argument("--rounds", type=int, default=36, help="usual: 36, each order of the three kinds six times")
    options.add_argument("--calls", type=int, default=300, help="of each kind in a round; usual: 300")
    given = options.parse_args()
    if given.rounds < 2 or given.calls < 1:
        options.error(f"--rounds {given.rounds}, --calls {given.calls}: at least 2 and 1")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    rows = [["chassis", "request", *(f"{kind} µs" for kind in KINDS), "untraced - plain µs", "budget µs", "traced / untraced"]]
    skipped, folder = [], children.Folder(False)
    try:
        world = run.World(given.out.resolve(), folder.path)
        try:
            for name in given.chassis or CHASSIS:
                budget, requests = CHASSIS[name]
                for service, method, arguments, rule in requests:
                    reason = run.why_not(world.out, service)
                    if reason:
                        skipped.append(f"skipped: {name}: {reason}")
                        continue
                    what = f"{service} {method}{', which calls' if rule else ', refused'}"
                    print(f"{name}: {what}", file=sys.stderr, flush=True)
                    # Files of a service lie in a folder of its name.
                    world.folder = folder.path / str(len(rows))
                    world.folder.mkdir()
                    rows.append(row(name, what, budget, measure(world, service, method, arguments, rule, given.rounds, given.calls)))
        finally:
            world.close()
    finally:
        folder.close()
    widths = [max(map(len, column)) for column in zip(*rows)]
    for line in rows:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    print("\n".join(skipped), end="\n" if skipped else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
