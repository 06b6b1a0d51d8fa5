"""Data sets that tests make by the program itself."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))
SMALL = ("--users", "200", "--movies", "30", "--no-video", "--quiet")


@lru_cache(maxsize=None)
def scratch() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="movies-data-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache(maxsize=None)
def facts() -> Path:
    """`movies.json`, which npm fetches once for all tests."""
    from maker import source

    return source.find(os.environ.get("MOVIES_JSON"), scratch() / "npm")


def command(out: Path, *args: str) -> list[str]:
    return [sys.executable, str(HERE / "make.py"), str(out), "--source", str(facts()), *args]


def run(out: Path, *args: str) -> subprocess.CompletedProcess:
    return subprocess.run(command(out, *args), capture_output=True, text=True, timeout=300)


def make(out: Path, *args: str) -> Path:
    ended = run(out, *args)
    assert ended.returncode == 0, ended.stderr
    return out


@lru_cache(maxsize=None)
def small() -> Path:
    """A data set that no test changes."""
    return make(scratch() / "small", *SMALL)


def copy(name: str) -> Path:
    """One that a test may change."""
    return shutil.copytree(small(), scratch() / name)
