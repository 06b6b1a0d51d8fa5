"""The package where nothing else is installed."""

from __future__ import annotations

import unittest

import taillight
from common import LOAD


class Bare(unittest.TestCase):
    def test_missing_packages_are_named(self) -> None:
        for call in (taillight.to_pandas, taillight.to_polars):
            with self.assertRaisesRegex(taillight.MissingExtraError, r"pip install 'taillight\["):
                call([{"a": 1}])
        with self.assertRaisesRegex(taillight.MissingExtraError, r"taillight\[plot\]"):
            taillight.plot(taillight.read(LOAD))
