"""Rows of a result for data frames. Column names end in their unit, as in the exported CSV."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .errors import MissingExtraError
from .read import Cell
from .records import Comparison, Experiment, Figure, Metric, Study, Summary, Trial

if TYPE_CHECKING:
    import pandas
    import polars

Row = dict[str, Cell]


def trials(experiment: Experiment) -> list[Row]:
    """A row for each trial, invalid ones too.

    Columns that `trials.csv` also has hold the same values. In addition each response time of `claimed`
    requests has its bounds: `p99_us`, `p99_us_low`, `p99_us_high`, `p99_us_usable`, `p99_us_n`.
    """
    return [_trial(experiment, trial) for trial in experiment.trials]


def _trial(experiment: Experiment, trial: Trial) -> Row:
    host = trial.disturbance
    row: Row = {
        "result": experiment.name,
        "trial": trial.id,
        "target": trial.target,
        "purpose": trial.purpose,
        "block": trial.block,
        "started": trial.started,
        "verdict": trial.verdict.label,
        "usable": trial.verdict.is_usable,
        "load_share": trial.load_share,
        "offered_rps": None if trial.offers_sessions else trial.offered_rps,
        "offered_sessions_per_s": trial.offered_rps if trial.offers_sessions else None,
        "achieved_rps": trial.achieved_rps,
        "window_s": trial.window_s,
        "arrival_count": trial.arrivals.intended,
        "completed_count": trial.arrivals.completed,
        "error_count": trial.arrivals.errors,
        "timeout_count": trial.arrivals.timeouts,
        "unfinished_count": trial.arrivals.unfinished,
        **_times("response_time_us", trial.all.response_time, "mean p50 p90 p95 p99 p99_9 p99_99 max"),
        "windowed_p99_us": trial.windowed_p99_us,
        **_times("service_time_us", trial.all.service_time, "mean p50 p99"),
        **_times("connection_wait_us", trial.all.connection_wait, "p99"),
        **_times("generator_lag_us", trial.all.generator_lag, "p50 p99 max"),
        "hit_ratio": trial.counters.get("hit_ratio"),
        "generator_threads": trial.generator.threads,
        "connections": trial.generator.connections,
        "generator_busy_share": trial.generator.busy_share,
        "undisturbed_windows": host.undisturbed_windows if host else None,
        "rests_on": host.basis if host else None,
        "touched_share": host.touched_share if host else None,
        "at_least_us_p99": host.p99_at_least_us if host else None,
    }
    for metric in typing.get_args(Metric):
        name = metric.replace(" ", "_").replace(".", "_") + "_us"
        row |= _bounded(name, trial.figure(metric), name == "windowed_p99_us")
    return row


def _times(name: str, summary: Summary, figures: str) -> Row:
    return {f"{name}_{figure}": getattr(summary, f"{figure}_us") for figure in figures.split()}


def _bounded(name: str, figure: Figure, has_value: bool = False) -> Row:
    value: Row = {} if has_value else {name: figure.value}
    return value | {
        f"{name}_low": figure.low,
        f"{name}_high": figure.high,
        f"{name}_usable": figure.usable,
        f"{name}_n": figure.n,
    }


def windows(experiment: Experiment) -> list[Row]:
    """A row for each window of each trial's time series, with columns of `windows.csv`."""
    return [
        {
            "result": experiment.name,
            "trial": trial.id,
            "target": trial.target,
            "start_ms": window.start_ms,
            "offered_count": window.offered,
            "answered_count": window.answered,
            "error_count": window.errors,
            "sample_count": window.count,
            "response_time_us_p50": window.p50_us,
            "response_time_us_p99": window.p99_us,
            "response_time_us_max": window.max_us,
            "backlog_count": window.backlog,
            "in_flight_count": window.in_flight,
            "outstanding_count": window.outstanding,
            "hit_count": window.hits,
            "get_count": window.gets,
            "disturbed": window.disturbed,
        }
        for trial in experiment.trials
        for window in trial.windows
    ]


def points(study: Study) -> list[Row]:
    """A row for each point of each figure of a study. `x` is a number or, as text, a category."""
    return [
        {
            "study": study.name,
            "figure": chart.id,
            "series": series.name,
            "published": series.published,
            "x": point.x if isinstance(point.x, float) else None,
            "category": point.x if isinstance(point.x, str) else None,
            "x_unit": chart.x.unit,
            "value": point.y,
            "low": point.low,
            "high": point.high,
            "usable": point.figure.usable,
            "n": point.n,
            "unit": chart.y.unit,
            "label": point.label,
        }
        for chart in study.figures
        for series in chart.series
        for point in series.points
    ]


def cells(study: Study) -> list[Row]:
    """A row for each measurement of a study, with a column for each metric, whose name ends in its unit."""
    names = sorted({name for cell in study.cells for name in cell.metrics})
    return [
        {
            "study": study.name,
            "series": cell.series,
            "x": cell.x if isinstance(cell.x, float) else None,
            "category": cell.x if isinstance(cell.x, str) else None,
            "block": cell.block,
            "verdict": cell.verdict.label,
            "usable": cell.verdict.is_usable and not cell.slowed,
            **{name: cell.metrics.get(name) for name in names},
        }
        for cell in study.cells
    ]


def ratios(comparison: Comparison) -> list[Row]:
    """A row for each compared point; `value` is b over a, `None` if either side lacks the figure."""
    rows: list[Row] = []
    for chart in comparison.figures:
        for series in chart.series:
            for point in series.points:
                ratio = point.ratio.figure if point.ratio else Figure(None, None, None, False, 0)
                rows.append(
                    {
                        "a": comparison.a.label,
                        "b": comparison.b.label,
                        "figure": chart.id,
                        "series": series.name,
                        "x": point.a.x if isinstance(point.a.x, float) else None,
                        "category": point.a.x if isinstance(point.a.x, str) else None,
                        "a_value": point.a.y,
                        "b_value": point.b.y,
                        "value": ratio.value,
                        "low": ratio.low,
                        "high": ratio.high,
                        "usable": ratio.usable,
                        "n": ratio.n,
                    }
                )
    return rows


def to_pandas(rows: Sequence[Mapping[str, Cell]]) -> pandas.DataFrame:
    """The rows as a data frame of pandas (the extra `pandas`)."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", "pandas") from None
    return pandas.DataFrame.from_records([dict(row) for row in rows])


def to_polars(rows: Sequence[Mapping[str, Cell]]) -> polars.DataFrame:
    """The rows as a data frame of polars (the extra `polars`)."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "polars") from None
    return polars.DataFrame([dict(row) for row in rows], infer_schema_length=None)
