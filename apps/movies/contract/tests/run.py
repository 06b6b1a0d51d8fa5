#!/usr/bin/python3
"""Tests the runner: every common case passes a stand-in that keeps the contract, and fails one with the fault that it is for.

tests/run.py [TEXT]     only the faults with this text; it takes about three minutes without
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# By fault of the stand-in: a case that must fail.
FAULTS = {
    "another clock": "answers ping",
    "no times": "answers a header frame",
    "long times": "answers a header frame",
    "header for plain": "answers a plain frame plainly",
    "sequence": "takes the golden frames",
    "frames in one piece": "takes a frame that comes byte by byte",
    "frames of 1 MiB": "takes a frame of 16 MiB",
    "unknown methods close": "names a method",
    "no deadlines": "refuses a spent deadline",
    "passes no deadline": "passes on what is left",
    "garbage is kept": "closes connections with garbage",
    "bad frames are not counted": "closes connections with garbage",
    "dies of half a frame": "closes connections that end within",
    "no queue limit": "refuses what is beyond its queue",
    "no server span": "writes a span for every",
    "no client span": "writes a span for every",
    "forgets who is gone": "writes the span of a request whose caller breaks",
    "room for what is claimed": "takes no memory",
    "parent": "writes a span for every",
    "stamps": "writes a span for every",
    "all are traced": "writes no span for a request",
    "counts twice": "counts what it does",
    "another refusal": "answers while a service that it calls fails",
    "wraps overload": "hands on that a service",
    "never asks again": "asks once more",
    "asks often": "asks once more",
    "asks again in time-outs": "gives up at the deadline while a service",
    "waits for ever": "gives up at the deadline while a service",
    "any key": "names a key",
    "ready at once": "is ready when the services",
    "does not name": "gives up when a service",
    "ends at once": "ends on SIGTERM",
    "exit code": "ends on `drain`",
    "few keys": "takes every key",
    "forgets what came": "answers what it has received",
    "a thread a connection": "answers others while connections are silent",
    "no histograms": "keeps histograms",
    "another bucket": "keeps histograms",
    "waits elsewhere": "shows that a service which it calls is slow",
    "no queue time": "shows that its workers were busy",
    "no pool wait": "shows that all connections were taken",
}


def run(folder: pathlib.Path, fault: str, case: str) -> list:
    program = folder / "bin" / "movies-reviews"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nFAULT="{fault}" exec /usr/bin/python3 {HERE}/stand_in.py "$@"\n')
    program.chmod(0o755)
    file = folder / "results.json"
    done = subprocess.run(["/usr/bin/python3", HERE.parent / "run.py", "--out", folder, "--service", "reviews", "--case", case, "--json", file],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    return json.loads(file.read_text())["results"]


def main() -> int:
    wanted, wrong = sys.argv[1] if len(sys.argv) > 1 else "", 0
    wrong += subprocess.run(["/usr/bin/python3", HERE / "registry.py"], check=False).returncode != 0
    for maker in ("golden.py", "vectors.py"):
        wrong += subprocess.run(["/usr/bin/python3", HERE.parent / maker, "--check"], check=False).returncode != 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if not wanted:
            failed = [one for one in run(folder, "", "") if one["outcome"] == "failed"]
            print(f"{'FAILED' if failed else 'ok    '} without a fault")
            for one in failed:
                print(f"        {one['case']}: {one['why']}")
            wrong += bool(failed)
        for fault, case in FAULTS.items():
            if wanted in fault:
                results = [one for one in run(folder, fault, case) if case in one["case"]]
                found = any(one["outcome"] == "failed" for one in results)
                print(f"{'ok    ' if found else 'FAILED'} {fault}: {next((one['why'][0][:110] for one in results if one['why']), 'is not noticed')}", flush=True)
                wrong += not found
    print(f"{wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
