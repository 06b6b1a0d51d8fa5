"""Figures read by Python equal those that the Rust program printed."""

from __future__ import annotations

import json
import re
import subprocess
import unittest
from pathlib import Path

import taillight
from common import LOAD, PROGRAM, STUDIES, Scratch, read_study


class Tables(Scratch):
    def check(self, folder: Path) -> None:
        experiment = taillight.read_experiment(folder)
        for name, rows in (
            ("trials", taillight.trials(experiment)),
            ("windows", taillight.windows(experiment)),
        ):
            printed = taillight.read_table(folder / f"{name}.csv")
            self.assertEqual(len(rows), len(printed))
            self.assertGreater(len(set(rows[0]) & set(printed[0])), 12)
            for row, expect in zip(rows, printed, strict=True):
                common = [column for column in expect if column in row]
                self.assertEqual({c: row[c] for c in common}, {c: expect[c] for c in common})

    def test_of_the_packed_result(self) -> None:
        self.check(self.unpacked())

    def test_of_a_result_of_this_build(self) -> None:
        if not PROGRAM.is_file():
            self.skipTest(f"{PROGRAM} is not built")
        command = [
            PROGRAM, "load", "cache", "--target", "sphinx", "--keys", "1k", "--rate", "1k", "--window", "1s",
            "--warmup", "100ms", "--csv", "--no-live", "--out", self.folder, "--name", "now",
        ]  # fmt: skip
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        self.assertTrue((self.folder / "now/trials.csv").is_file(), run.stderr)
        self.check(self.folder / "now")
        packed = self.folder / "now.taillight.tgz"
        subprocess.run([PROGRAM, "pack", self.folder / "now", "--out", packed], check=True, capture_output=True)
        self.assertEqual(taillight.read(packed), taillight.read(self.folder / "now"))


class Histograms(unittest.TestCase):
    def test_have_the_figures_of_the_record(self) -> None:
        experiment = taillight.read_experiment(LOAD)
        for trial in experiment.trials:
            log = taillight.read_log(LOAD, trial)
            tags = {interval.tag for interval in log.intervals}
            self.assertIn("get.response_time", tags)
            for operation in trial.operations:
                for kind in ("response_time", "service_time", "generator_lag"):
                    found = log.merged(f"{operation.name}.{kind}").summary()
                    self.assertEqual(found, getattr(operation, kind), f"{operation.name}.{kind}")


class Bounds(unittest.TestCase):
    def test_are_kept(self) -> None:
        experiment = taillight.read_experiment(LOAD)
        raw = json.loads(json.dumps(experiment.raw))["trials"][0]["bounds"]
        p99 = experiment.trials[0].figure("p99")
        expect = next(of for of in raw["percentiles"] if of["percentile"] == 99.0)
        self.assertEqual((p99.low, p99.high), (expect["low_us"], expect["high_us"]))
        self.assertFalse(p99.usable, "78 µs to 4 ms is not one number")
        self.assertEqual(p99.n, experiment.trials[0].claimed.count)
        load = experiment.loads()[0]
        self.assertEqual(len(load.trials), 2)
        lows = [trial.figure("p99").low or 0.0 for trial in load.trials]
        self.assertEqual(load.figure("p99").low, sum(lows) / 2)


#: How the report prints a duration in a table, in µs.
_UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6}
_CELL = re.compile(r"(?P<value>[\d.]+) (?P<unit>ns|µs|ms|s) \((?P<low>[\d.]+)(?: (?P<lu>\S+))?–(?P<high>[\d.]+) (?P<hu>ns|µs|ms|s)\)$")


class Studies(unittest.TestCase):
    def test_all_packed_results_load(self) -> None:
        self.assertGreater(len(STUDIES), 20)
        for path in STUDIES:
            study = read_study(path)
            self.assertTrue(study.claims, path)
            rows = taillight.points(study)
            self.assertEqual(len(rows), sum(len(s.points) for c in study.figures for s in c.series))
            self.assertEqual(len(taillight.cells(study)), len(study.cells))

    def test_points_are_those_of_the_printed_tables(self) -> None:
        compared = 0
        for path in STUDIES:
            study = read_study(path)
            tables = {table["id"]: table for table in _tables(path)}
            for chart in study.figures:
                table = tables.get(chart.id)
                if table is None or chart.y.unit != "µs":
                    continue
                for number, series in enumerate(chart.series):
                    cells = {row[0]: row[number + 1] for row in table["rows"] if len(row) > number + 1}
                    for point in series.points:
                        key = f"{point.x:g} {chart.x.unit}".strip() if isinstance(point.x, float) else point.x
                        found = _CELL.match(cells.get(key, ""))
                        if found is None or series.published:
                            continue
                        unit = found["unit"]
                        # A range may have one unit, at its end.
                        ends = (found["lu"] or found["hu"], found["hu"])
                        shown = [float(found["value"]) * _UNITS[unit]]
                        shown += [float(found["low"]) * _UNITS[ends[0]], float(found["high"]) * _UNITS[ends[1]]]
                        for of, expect in zip(shown, (point.y, point.low, point.high), strict=True):
                            assert expect is not None
                            self.assertLessEqual(abs(of - expect), 0.006 * expect, f"{path} {chart.id} {key}")
                        compared += 1
        self.assertGreater(compared, 100)


def _tables(path: Path) -> list[dict[str, list[list[str]]]]:
    import tarfile

    with tarfile.open(path) as archive:
        file = archive.extractfile("tables.json")
        assert file is not None
        tables: list[dict[str, list[list[str]]]] = json.load(file)["tables"]
        return tables
