"""Stages of the making: one that an earlier run finished with the same arguments is not run again."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from .errors import Problem
from .progress import Progress
from .tables import PARTIAL, digest

FOLDER = ".stages"
"""Stamps of finished stages, and what npm brought, in the folder of the data set."""


class Stages:
    """The stages of one folder, which belongs to one run at a time."""

    def __init__(self, out: Path, progress: Progress):
        self.out = out
        self.folder = out / FOLDER
        self.progress = progress
        self.files: dict[str, str] = {}
        if out.exists() and not self.folder.is_dir() and any(out.iterdir()):
            raise Problem(f"{out} holds other files; name an empty folder, or one that make.py began")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = (self.folder / "lock").open("w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Problem(f"another make.py is at work in {out}; wait for it") from error
        for path in list(out.rglob(".*" + PARTIAL)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def run(self, name: str, key: object, make: Callable[[], Iterable[Path]]) -> None:
        """Runs a stage whose result follows from `key`; `make` returns its files."""
        stamp, wanted = self._stamp(name), hashed(key)
        done = self._read(stamp, wanted)
        if done is not None:
            self.progress.skipped(name)
        else:
            self.progress.begin(name)
            before = self._made(stamp)
            # From now on this stage's earlier files may be replaced.
            write_text(stamp, json.dumps({"key": None, "files": before}))
            done = {str(path.relative_to(self.out)): [digest(path), path.stat().st_size] for path in make()}
            for file in set(before) - set(done):
                (self.out / file).unlink(missing_ok=True)
            write_text(stamp, json.dumps({"key": wanted, "files": done}, indent=1))
            self.progress.end(f"{sum(size for _, size in done.values()) / 1e6:.1f} MB")
        self.files.update({file: sha256 for file, (sha256, _) in done.items()})

    def is_there(self, name: str, key: object) -> bool:
        """Whether `run` would skip it."""
        return self._read(self._stamp(name), hashed(key)) is not None

    def _stamp(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _made(self, stamp: Path) -> dict:
        """The files of the last run of a stage, whatever it followed from."""
        try:
            return dict(json.loads(stamp.read_text())["files"])
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _read(self, stamp: Path, wanted: str) -> dict | None:
        """The files of a finished stage, if all of them are there as it left them, as far as sizes tell."""
        try:
            found = json.loads(stamp.read_text())
            files = found["files"]
            same = found["key"] == wanted and all((self.out / file).stat().st_size == size for file, (_, size) in files.items())
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return files if same else None

    def drop(self, name: str, path: Path) -> None:
        """Removes what a stage made that is not wanted any more."""
        if self._stamp(name).exists():
            self._stamp(name).unlink()
            shutil.rmtree(path, ignore_errors=True)


def hashed(key: object) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()


def write_text(path: Path, text: str) -> None:
    """A text file that gets its name once it is whole."""
    partial = path.with_name("." + path.name + PARTIAL)
    with partial.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
