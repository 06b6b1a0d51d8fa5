#!/usr/bin/python3
"""Contract tests of the movie application. README.md says how its cases are written.

run.py --out OUT [--service NAME]... [--case TEXT] [--jobs N] [--list] [--json FILE] [--keep]
"""

import argparse
import json
import os
import pathlib
import signal
import sys
import time
import tomllib
import traceback

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

try:
    import jinja2  # noqa: F401
    import psycopg2  # noqa: F401
    import thrift  # noqa: F401
except ImportError as error:
    sys.exit(f"run.py: {error}; apt-get install python3-thrift python3-psycopg2 python3-jinja2, and run it by /usr/bin/python3")

import children  # noqa: E402
import common  # noqa: E402
import fastcgi  # noqa: E402
import stores  # noqa: E402
import wire  # noqa: E402
from busy import repeated  # noqa: E402
from cases import run_case  # noqa: E402
from idl import Idl  # noqa: E402
from subject import ContractError, Subject  # noqa: E402


class World:
    """What all services share."""

    def __init__(self, out: pathlib.Path, folder: pathlib.Path):
        self.out, self.folder = out, folder
        self.registry = registry()
        self.idl = Idl(HERE.parent / "idl" / "movies.thrift", folder / "idl")
        self.caches = stores.Caches()
        self._postgres = None

    @property
    def postgres(self):
        if self._postgres is None:
            self._postgres = stores.Postgres(self.folder)
        return self._postgres

    def close(self) -> None:
        self.caches.close()
        if self._postgres:
            self._postgres.close()


def registry() -> dict:
    return tomllib.loads((HERE / "services.toml").read_text())


class Results:
    """One line for each case, and all of them for a file."""

    def __init__(self):
        self.all = []

    def add(self, service: str, name: str, outcome: str, lines=(), took=0.0) -> None:
        self.all.append({"service": service, "case": name, "outcome": outcome, "why": list(lines), "ms": round(took * 1000)})
        if outcome == "passed":
            print(f"ok      {service}: {name} ({took * 1000:.0f} ms)")
        elif outcome == "skipped":
            print(f"skipped {service}: {name}: {'; '.join(lines)}")
        else:
            print(f"FAILED  {service}: {name} ({took * 1000:.0f} ms)")
            for line in lines:
                print(f"        {line}")
        sys.stdout.flush()


def attempt(results: Results, subject: Subject, name: str, what) -> None:
    began, lost = time.monotonic(), False

    def once() -> list:
        nonlocal lost
        try:
            return what()
        except ContractError as error:
            return [f"contract.toml: {error}"]
        except (wire.Closed, wire.Malformed, OSError, RuntimeError) as error:
            lost = True
            return [f"{type(error).__name__}: {error}"]
        except (KeyError, ValueError, TypeError, IndexError, stores.psycopg2.Error) as error:
            lost = True
            where = error.__traceback__
            while where.tb_next:
                where = where.tb_next
            return [f"{error!r} ({pathlib.Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno})"]

    def again(lines: list) -> None:
        nonlocal lost
        print(f"again   {subject.name}: {name}: the machine is busy: {lines[0]}", flush=True)
        if lost:
            # The spans of the lost run cannot be told from later ones.
            subject.restart_after_crash()
            lost = False

    try:
        lines = repeated(once, again)
    except common.Skip as skip:
        results.add(subject.name, name, "skipped", [str(skip)])
        return
    results.add(subject.name, name, "failed" if lines else "passed", list(dict.fromkeys(lines)), time.monotonic() - began)


def test(world: World, results: Results, name: str, wanted: str) -> None:
    contract = HERE.parent / "services" / name / "contract.toml"
    try:
        subject = Subject(world, name, contract)
    except (ContractError, ValueError, KeyError) as error:
        results.add(name, "contract.toml", "failed", [repr(error) if isinstance(error, KeyError) else str(error)])
        return
    try:
        own = [case for case in subject.cases if wanted in case["name"]]
        usual = [(title, function) for title, function in (fastcgi.CASES if subject.is_http else common.CASES) if wanted in title]
        if any("gives up when" in title for title, _ in usual):
            subject.doom()
        attempt(results, subject, "is ready", subject.restart)
        if subject.main is None:
            return
        for case in own:
            attempt(results, subject, case["name"], lambda: run_case(subject, case))
        if own:
            attempt(results, subject, "writes spans of all these", subject.check_spans)
        subject.main_or_start()
        for title, function in usual:
            def one():
                subject.main_or_start()
                subject.reset(subject.probe)
                return function(subject)
            attempt(results, subject, title, one)
    except RuntimeError as error:
        results.add(name, "starts again", "failed", [str(error)])
    finally:
        subject.close()


def why_not(out: pathlib.Path, name: str):
    """Why a service is not tested; None where it is."""
    program = out / "bin" / f"movies-{name}"
    if not os.access(program, os.X_OK):
        return f"{program} is not there"
    if not (HERE.parent / "services" / name / "contract.toml").exists():
        return f"services/{name}/contract.toml is not there"
    return None


def listing(names: list, known: dict) -> None:
    for name in names:
        file = HERE.parent / "services" / name / "contract.toml"
        own = [case["name"] for case in tomllib.loads(file.read_text()).get("case", [])] if file.exists() else []
        usual = common.CASES if "idl" in known[name] else fastcgi.CASES
        for title in own + [title for title, _ in usual]:
            print(f"{name}: {title}")


def run(given, names: list) -> list:
    """The results of these services, one after the other."""
    results, folder = Results(), children.Folder(given.keep)
    try:
        world = World(given.out.resolve(), folder.path)
        try:
            for name in names:
                reason = why_not(world.out, name)
                if reason:
                    results.add(name, "all", "skipped", [reason])
                else:
                    test(world, results, name, given.case)
        finally:
            world.close()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        results.add("run.py", "all", "failed", ["interrupted"])
    finally:
        folder.close()
        if given.keep:
            print(f"kept {folder.path}")
    return results.all


def work(given, names: list, pipe: int):
    """What a process does that was forked for its share: writes the results, and ends."""
    try:
        children.end_with_parent(signal.SIGTERM)
        results = run(given, names)
        with os.fdopen(pipe, "w") as file:
            json.dump(results, file)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(0)


def run_in_processes(given, names: list, jobs: int) -> list:
    """The same in several processes, each with its share of the services, its own stores and its own folder."""
    workers = []
    try:
        for share in range(jobs):
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                work(given, names[share::jobs], write)
            os.close(write)
            workers.append((pid, os.fdopen(read), names[share::jobs]))
        results = []
        for _, pipe, share in workers:
            said = pipe.read()
            failed = [{"service": name, "case": "all", "outcome": "failed", "why": ["its process ended early"], "ms": 0} for name in share]
            results += json.loads(said) if said else failed
        return results
    except BaseException:
        for pid, *_ in workers:
            os.kill(pid, signal.SIGTERM)
        raise
    finally:
        for pid, *_ in workers:
            os.waitpid(pid, 0)


def main() -> int:
    known = registry()
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--out", type=pathlib.Path, help="folder with bin/movies-NAME")
    options.add_argument("--service", action="append", choices=sorted(known), metavar="NAME")
    options.add_argument("--case", default="", metavar="TEXT", help="only cases whose name has this")
    options.add_argument("--jobs", type=int, default=1, metavar="N", help="services that are tested at the same time")
    options.add_argument("--list", action="store_true")
    options.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options.add_argument("--keep", action="store_true", help="keep configuration files, logs and spans")
    given = options.parse_args()
    names = given.service or list(known)
    if given.list:
        listing(names, known)
        return 0
    if not given.out:
        options.error("--out is missing")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    jobs = min(given.jobs, len(names))
    results = run_in_processes(given, names, jobs) if jobs > 1 else run(given, names)
    if given.json:
        given.json.write_text(json.dumps({"results": results}, indent=1) + "\n")
    count = {outcome: sum(result["outcome"] == outcome for result in results) for outcome in ("passed", "failed", "skipped")}
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
