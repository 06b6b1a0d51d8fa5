"""What the tests share."""

from __future__ import annotations

import functools
import tarfile
import tempfile
import unittest
from pathlib import Path

import taillight

ROOT = Path(__file__).parents[2]
#: Two trials of `taillight load cache --csv --parquet` on a busy machine, whose figures have bounds.
LOAD = Path(__file__).parent / "data" / "load.taillight.tgz"
FIXTURES = ROOT / "crates/results/tests/fixtures"
STUDIES = sorted(ROOT.glob("studies/*/result.taillight.tgz"))
#: The program as the tests of the repository build it.
PROGRAM = ROOT / "target/debug/taillight"


#: Each of them is read once.
read_study = functools.cache(taillight.read_study)


class Scratch(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def unpacked(self) -> Path:
        """The folder of `LOAD`."""
        with tarfile.open(LOAD) as archive:
            archive.extractall(self.folder / "load", filter="data")
        return self.folder / "load"
