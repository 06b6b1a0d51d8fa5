"""Charts by matplotlib (the extra `plot`), with bounds as bars and unusable figures hollow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import MissingExtraError
from .read import Result
from .records import Axis, Chart, Comparison, Experiment, Figure, Metric, Study


def plot(result: Result, figure: str | None = None, *, metric: Metric = "p99", axes: Any = None) -> Any:
    """Draws the result; returns matplotlib's axes.

    `figure`: the id of a figure of a study or a comparison; its first one by default. For an experiment
    `load`, which is latency against load and the default, or `percentiles`.
    """
    if isinstance(result, Study):
        if figure is None and not result.figures:
            raise ValueError(f"the study {result.name} has no figure to draw")
        return _chart(result.chart(figure or result.figures[0].id), axes)
    if isinstance(result, Comparison):
        return _ratios(result, figure, axes)
    if figure in (None, "load"):
        return _load(result, metric, axes)
    if figure == "percentiles":
        return _percentiles(result, axes)
    raise ValueError(f"an experiment has no figure {figure!r}; it has load and percentiles")


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    return pyplot.subplots(layout="constrained")[1]


def _line(axes: Any, xs: Sequence[float], figures: Sequence[Figure], name: str, style: str = "-") -> None:
    kept = [(x, of, of.value) for x, of in zip(xs, figures, strict=True) if of.value is not None]
    if not kept:
        return
    values = [value for *_, value in kept]
    below = [max(value - (value if of.low is None else of.low), 0.0) for _, of, value in kept]
    above = [max((value if of.high is None else of.high) - value, 0.0) for _, of, value in kept]
    places = [x for x, *_ in kept]
    bars = axes.errorbar(places, values, [below, above], linestyle=style, marker="o", mfc="none", capsize=3, label=name)
    color = bars[0].get_color()
    usable = [(x, value) for x, of, value in kept if of.usable]
    axes.scatter([x for x, _ in usable], [y for _, y in usable], color=color, zorder=3)


def _name(axis: Axis) -> str:
    return f"{axis.label} ({axis.unit})" if axis.unit else axis.label


def _chart(chart: Chart, axes: Any) -> Any:
    axes = _axes(axes)
    axes.set(title=chart.title, xlabel=_name(chart.x), ylabel=_name(chart.y))
    if chart.kind == "matrix":
        rows, columns = [series.name for series in chart.series], chart.x.categories
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        for i, series in enumerate(chart.series):
            for j, point in enumerate(series.points):
                column = columns.index(point.x) if point.x in columns else j
                axes.text(column, i, point.label or "", ha="center", va="center")
        return axes
    categories = chart.x.categories
    if categories:
        axes.set_xticks(range(len(categories)), categories)
    count = len(chart.series)
    for i, series in enumerate(chart.series):
        points = [p for p in series.points if isinstance(p.x, float) or p.x in categories]
        # The series of a category are drawn side by side.
        shift = 0.6 * ((i + 0.5) / count - 0.5) if categories and chart.kind == "bars" else 0.0
        xs = [p.x if isinstance(p.x, float) else categories.index(p.x) + shift for p in points]
        if chart.kind == "percentiles":
            pairs = [(100 - x, p.y) for x, p in zip(xs, points, strict=True) if p.y is not None and x < 100]
            axes.plot([x for x, _ in pairs], [y for _, y in pairs], label=series.name)
            continue
        name = f"{series.name} (published)" if series.published else series.name
        style = "none" if chart.kind == "bars" else "--" if series.published else "-"
        _line(axes, xs, [p.figure for p in points], name, style)
    if chart.kind == "percentiles":
        _percentile_axis(axes)
    if chart.y.scale == "log":
        axes.set_yscale("log")
    if chart.x.scale == "log" and not categories and chart.kind != "percentiles":
        axes.set_xscale("log")
    if chart.qos_us is not None:
        axes.axhline(chart.qos_us, color="gray", linestyle=":", label="QoS target")
    axes.legend()
    return axes


def _load(experiment: Experiment, metric: Metric, axes: Any) -> Any:
    axes = _axes(axes)
    loads = experiment.loads()
    for target in dict.fromkeys(load.target for load in loads):
        own = [load for load in loads if load.target == target]
        _line(axes, [load.offered_rps for load in own], [load.figure(metric) for load in own], target)
    axes.set(xlabel="offered load (rps)", ylabel=f"{metric} response time (µs)", yscale="log")
    axes.set_title(experiment.name)
    axes.legend()
    return axes


def _percentiles(experiment: Experiment, axes: Any) -> Any:
    axes = _axes(axes)
    for load in experiment.loads():
        for trial in load.trials[:1]:
            curve = [(100 - percentile, us) for percentile, us in trial.curve if percentile < 100]
            name = f"{load.target} at {load.offered_rps:.0f} rps"
            axes.plot([x for x, _ in curve], [us for _, us in curve], label=name)
    _percentile_axis(axes)
    axes.set(xlabel="percentile", ylabel="response time (µs)", yscale="log", title=experiment.name)
    axes.legend()
    return axes


def _percentile_axis(axes: Any) -> None:
    axes.set_xscale("log")
    axes.invert_xaxis()
    ticks = {50.0: "50", 10.0: "90", 1.0: "99", 0.1: "99.9", 0.01: "99.99"}
    axes.set_xticks(list(ticks), list(ticks.values()))


def _ratios(comparison: Comparison, figure: str | None, axes: Any) -> Any:
    charts = [chart for chart in comparison.figures if figure in (None, chart.id)]
    if not charts:
        known = ", ".join(chart.id for chart in comparison.figures) or "none"
        raise KeyError(f"the comparison has no figure {figure}; it has {known}")
    axes, chart = _axes(axes), charts[0]
    categories = chart.x.categories
    for series in chart.series:
        points = [point for point in series.points if point.ratio is not None]
        xs = [categories.index(p.a.x) if isinstance(p.a.x, str) else p.a.x for p in points]
        figures = [point.ratio.figure for point in points if point.ratio is not None]
        _line(axes, xs, figures, series.name)
    if categories:
        axes.set_xticks(range(len(categories)), categories)
    axes.axhline(1.0, color="gray", linewidth=0.8)
    label = f"{comparison.b.label} over {comparison.a.label}"
    axes.set(title=chart.title, xlabel=_name(chart.x), ylabel=label)
    axes.legend()
    return axes
