"""Data frames, Parquet and charts, with the optional packages installed."""

from __future__ import annotations

import json
import os
import unittest

import taillight
from common import FIXTURES, LOAD, ROOT, STUDIES, Scratch, read_study

os.environ["MPLBACKEND"] = "agg"


class Frames(unittest.TestCase):
    def test_pandas(self) -> None:
        experiment = taillight.read_experiment(LOAD)
        frame = taillight.to_pandas(taillight.trials(experiment))
        self.assertEqual(list(frame.p99_us_high), [t.figure("p99").high for t in experiment.trials])
        self.assertEqual(list(frame.trial), ["0001", "0002"])

    def test_polars(self) -> None:
        for path in STUDIES[:3]:
            study = read_study(path)
            frame = taillight.to_polars(taillight.points(study))
            self.assertEqual(frame["value"].to_list(), [row["value"] for row in taillight.points(study)])
        ratios = taillight.ratios(taillight.read_comparison(FIXTURES / "v1-comparison.json"))
        self.assertEqual(taillight.to_polars(ratios)["low"].to_list(), [row["low"] for row in ratios])


class Parquet(Scratch):
    def test_as_parquet(self) -> None:
        folder = self.unpacked()
        for name in ("trials", "windows"):
            rows = taillight.read_table(folder / f"{name}.parquet")
            self.assertEqual(rows, taillight.read_table(folder / f"{name}.csv"))
        (folder / "trials.parquet").write_bytes(b"PAR1, cut")
        with self.assertRaisesRegex(taillight.DamagedError, "not a Parquet file"):
            taillight.read_table(folder / "trials.parquet")


class Plots(unittest.TestCase):
    def setUp(self) -> None:
        from matplotlib import pyplot

        self.addCleanup(pyplot.close, "all")

    def test_draw_values_and_bounds(self) -> None:
        study = read_study(STUDIES[0])
        axes = taillight.plot(study, "p99")
        series = study.chart("p99").series[0]
        bars = axes.containers[0]
        self.assertEqual(list(bars.lines[0].get_ydata()), [point.y for point in series.points])
        ends = [[end[1] for end in segment] for segment in bars.lines[2][0].get_segments()]
        for (low, high), point in zip(ends, series.points, strict=True):
            self.assertAlmostEqual(low, point.low or 0.0)
            self.assertAlmostEqual(high, point.high or 0.0)

    def test_draw_every_figure(self) -> None:
        from matplotlib import pyplot

        kinds = set()
        for path in STUDIES:
            study = read_study(path)
            for chart in study.figures:
                if chart.kind not in kinds:
                    kinds.add(chart.kind)
                    taillight.plot(study, chart.id).figure.canvas.draw()
            pyplot.close("all")
        self.assertEqual(kinds, {"lines", "bars", "matrix", "percentiles"})
        for path in (LOAD, FIXTURES / "v1-sweep.json", FIXTURES / "v1-live.json"):
            experiment = taillight.read_experiment(path)
            taillight.plot(experiment).figure.canvas.draw()
            taillight.plot(experiment, "percentiles").figure.canvas.draw()
        taillight.plot(taillight.read(FIXTURES / "v1-comparison.json")).figure.canvas.draw()

    def test_unknown_figures_name_the_known(self) -> None:
        with self.assertRaisesRegex(KeyError, "no figure nothing; it has p99"):
            taillight.plot(taillight.read(STUDIES[0]), "nothing")

    def test_notebooks_run(self) -> None:
        notebooks = sorted((ROOT / "python/examples").glob("*.ipynb"))
        self.assertTrue(notebooks)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(ROOT / "python/examples")
        for path in notebooks:
            names: dict[str, object] = {}
            for cell in json.loads(path.read_text())["cells"]:
                self.assertFalse(cell.get("outputs"), f"{path}: clear the outputs")
                if cell["cell_type"] == "code":
                    exec("".join(cell["source"]), names)
