"""The records of a result, as `result.json`, `study.json` and a comparison hold them.

Fields have the names of the files and end in their unit. Parts of a file that have no type here, such
as probes and traces, are in `raw`. `docs/reference/notebooks.md` lists the conventions.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import Any, Literal

#: The latest schemas that this version reads.
EXPERIMENT_SCHEMA = 3
STUDY_SCHEMA = 2
COMPARISON_SCHEMA = 1

#: A figure with an uncertainty above this share of itself is not usable, unless it is below
#: `USABLE_US`. Source: `Bounds` in `crates/results/src/bounds.rs`.
USABLE_SHARE = 0.1
USABLE_US = 50.0

Metric = Literal["mean", "p50", "p90", "p95", "p99", "windowed p99", "p99.9", "p99.99"]

_PERCENTILES: dict[str, tuple[float, str]] = {
    "p50": (50.0, "p50_us"),
    "p90": (90.0, "p90_us"),
    "p95": (95.0, "p95_us"),
    "p99": (99.0, "p99_us"),
    "p99.9": (99.9, "p99_9_us"),
    "p99.99": (99.99, "p99_99_us"),
}


@dataclass(frozen=True)
class Figure:
    """A value with its bounds; `None` where nothing was measured.

    `usable`: whether the measurement may be cited as one number. `n`: samples of one trial, or repeats.
    """

    value: float | None
    low: float | None
    high: float | None
    usable: bool
    n: int


@dataclass(frozen=True)
class Summary:
    """The figures of one histogram; `None` if fewer than 10 samples lie beyond the percentile."""

    count: int
    mean_us: float | None
    p50_us: float | None
    p90_us: float | None
    p95_us: float | None
    p99_us: float | None
    p99_9_us: float | None
    p99_99_us: float | None
    max_us: float | None


@dataclass(frozen=True)
class Arrivals:
    """Outcomes of all arrivals in the window; `intended` is the sum of the others."""

    intended: int
    completed: int
    errors: int
    timeouts: int
    unfinished: int


@dataclass(frozen=True)
class Operation:
    """The times of one operation, or of all."""

    name: str
    response_time: Summary
    service_time: Summary
    connection_wait: Summary
    generator_lag: Summary
    outcomes: Arrivals | None = None
    follow_up: bool = False
    curve: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Window:
    """One window of a trial's time series."""

    start_ms: int
    count: int
    p50_us: float | None
    p99_us: float | None
    max_us: float | None
    backlog: int | None
    disturbed: bool
    in_flight: int | None = None
    offered: int | None = None
    answered: int | None = None
    errors: int | None = None
    hits: int | None = None
    gets: int | None = None

    @property
    def outstanding(self) -> int | None:
        """Requests due and not answered when the window ended."""
        if self.backlog is None or self.in_flight is None:
            return None
        return self.backlog + self.in_flight


@dataclass(frozen=True)
class Reason:
    """One reason against a trial."""

    reason: str
    detail: str


@dataclass(frozen=True)
class Verdict:
    """Whether a trial's figures describe the server."""

    kind: Literal["valid", "overloaded", "invalid"]
    achieved_share: float | None = None
    backlog_growth_rps: float | None = None
    timed_out_share: float = 0.0
    reasons: list[Reason] = field(default_factory=list)

    @property
    def is_usable(self) -> bool:
        """Whether the figures describe the server; an overload does."""
        return self.kind != "invalid"

    @property
    def label(self) -> str:
        """One or two words for a table."""
        if self.kind == "invalid" and self.reasons:
            return self.reasons[0].reason.replace("_", " ")
        return self.kind


@dataclass(frozen=True)
class PercentileBounds:
    """The bounds of one percentile."""

    percentile: float
    low_us: float
    high_us: float


@dataclass(frozen=True)
class Bounds:
    """The range of a figure without the effects of generator and host."""

    low_us: float
    high_us: float

    @property
    def is_usable(self) -> bool:
        """Whether they are close enough to state the figure as one number."""
        return self.high_us - self.low_us <= max(USABLE_US, USABLE_SHARE * self.low_us)


@dataclass(frozen=True)
class TimeBounds:
    """The bounds of a trial's response times."""

    percentiles: list[PercentileBounds]
    windowed_p99: Bounds | None = None
    within: float | None = None
    slowed: Reason | None = None


@dataclass(frozen=True)
class Disturbance:
    """The effects of the host on a trial, as far as figures rest on them."""

    windows: int
    undisturbed_windows: int
    touched_share: float
    basis: Literal["all", "undisturbed_windows", "nothing"]
    undisturbed: Summary | None = None
    p99_at_least_us: float | None = None


@dataclass(frozen=True)
class Within:
    """The share of requests answered within a target."""

    target_us: float
    share: float


@dataclass(frozen=True)
class Generator:
    """The generator's own state."""

    threads: int
    cpus: list[int]
    connections: int
    depth: int
    pace: str
    io: str
    busy_share: float
    busy_us_per_request: float | None
    backlog_at_end: int
    max_in_flight: int
    lag_limit_us: float | None = None


@dataclass(frozen=True)
class Trial:
    """One measurement: one offered load on one target."""

    id: str
    target: str
    purpose: Literal["single", "max_search", "load_point", "peak_search"]
    block: int
    load_share: float | None
    started: str
    offered_rps: float
    achieved_rps: float
    window_s: float
    warmup_s: float
    drain_s: float
    arrivals: Arrivals
    all: Operation
    operations: list[Operation]
    windowed_p99_us: float | None
    windows: list[Window]
    curve: list[tuple[float, float]]
    generator: Generator
    counters: dict[str, float]
    verdict: Verdict
    hlog: str | None
    loop_kind: Literal["open", "closed"] = "open"
    within: list[Within] = field(default_factory=list)
    disturbance: Disturbance | None = None
    bounds: TimeBounds | None = None
    instead_of: str | None = None
    spec: dict[str, Any] | None = None
    sessions: dict[str, Any] | None = None

    @property
    def offers_sessions(self) -> bool:
        """Whether its offered load is in sessions per second."""
        return self.sessions is not None and self.loop_kind == "open"

    @property
    def claimed(self) -> Summary:
        """The response times that claims rest on: of all requests, or of undisturbed windows."""
        found = self.disturbance
        if found and found.basis == "undisturbed_windows" and found.undisturbed:
            return found.undisturbed
        return self.all.response_time

    def figure(self, metric: Metric) -> Figure:
        """A figure of the response time with its bounds. Units: µs."""
        times = self.claimed
        bounds: Bounds | None = None
        if metric == "mean":
            value = times.mean_us
        elif metric == "windowed p99":
            value = self.windowed_p99_us
            bounds = self.bounds.windowed_p99 if self.bounds else None
        else:
            percentile, name = _PERCENTILES[metric]
            value = getattr(times, name)
            known = self.bounds.percentiles if self.bounds else []
            for of in known:
                if math.isclose(of.percentile, percentile, rel_tol=0.0, abs_tol=1e-9):
                    bounds = Bounds(of.low_us, of.high_us)
        usable = value is not None and self.verdict.is_usable
        if bounds is None:
            return Figure(value, None, None, usable, times.count)
        return Figure(
            value, bounds.low_us, bounds.high_us, usable and bounds.is_usable, times.count
        )


@dataclass(frozen=True)
class MaxThroughput:
    """The highest sustained rate of a block, as an interval."""

    block: int
    low_rps: float
    high_rps: float


@dataclass(frozen=True)
class Peak:
    """The peak throughput under QoS; `high_rps` is `None` if every load met the target."""

    low_rps: float
    high_rps: float | None
    share_of_max: float | None
    trials: int
    note: str | None


@dataclass(frozen=True)
class Target:
    """A server under test."""

    name: str
    version: str
    address: str
    command: list[str]
    cpus: list[int]
    max_throughput: list[MaxThroughput]
    peak: Peak | None
    form: str = ""
    instances: int = 0


@dataclass(frozen=True)
class Load:
    """The trials of one target at one load."""

    target: str
    share: float | None
    offered_rps: float
    trials: list[Trial]

    @property
    def usable(self) -> list[Trial]:
        """The trials whose figures describe the server."""
        return [trial for trial in self.trials if trial.verdict.is_usable]

    def figure(self, metric: Metric) -> Figure:
        """The median over the usable trials, with the medians of their bounds.

        If no trial has bounds, the least and the greatest value are given instead.
        """
        figures = [trial.figure(metric) for trial in self.usable]
        values = [figure.value for figure in figures if figure.value is not None]
        lows = [figure.low for figure in figures if figure.low is not None]
        highs = [figure.high for figure in figures if figure.high is not None]
        if lows and highs:
            low, high = _median(lows), _median(highs)
        else:
            low, high = min(values, default=None), max(values, default=None)
        usable = bool(figures) and all(figure.usable for figure in figures)
        return Figure(_median(values), low, high, usable, len(values))


@dataclass(frozen=True)
class Experiment:
    """A set of trials that answers one question."""

    schema: int
    kind: Literal["demo", "load", "sweep", "peak", "compare_live"]
    name: str
    created: str
    elapsed_s: float
    complete: bool
    interrupted: str | None
    command: list[str]
    version: str
    seed: int
    qos: dict[str, Any]
    qos_basis: Literal["raw", "windowed"]
    qos_basis_reason: str
    host: Any
    notes: list[str]
    targets: list[Target]
    trials: list[Trial]
    blocks: int = 0
    until_settled: bool = False
    raw: dict[str, Any] = field(default_factory=dict, repr=False, metadata={"derived": True})

    def loads(self) -> list[Load]:
        """The trials by target and load, rising: of a sweep if present, or else of a search."""
        purposes = (("load_point", "single"), ("peak_search",), ("max_search",))
        loads: list[Load] = []
        for target in dict.fromkeys(trial.target for trial in self.trials):
            own = [trial for trial in self.trials if trial.target == target]
            chosen = ([trial for trial in own if trial.purpose in kind] for kind in purposes)
            points: list[list[Trial]] = []
            for trial in next((found for found in chosen if found), []):
                same = (trials for trials in points if _same_load(trials[0], trial))
                trials = next(same, None)
                if trials is None:
                    points.append([trial])
                else:
                    trials.append(trial)
            found = [
                Load(target, trials[0].load_share, _median([t.offered_rps for t in trials]) or 0.0, trials)
                for trials in points
            ]
            loads += sorted(found, key=lambda load: load.offered_rps)
        return loads


@dataclass(frozen=True)
class Axis:
    """An axis of a study's figure."""

    label: str
    unit: str
    scale: Literal["linear", "log"]
    categories: list[str]


@dataclass(frozen=True)
class Point:
    """A point of a series: the median over its blocks, or a published value."""

    x: float | str
    y: float | None
    low: float | None
    high: float | None
    n: int
    valid: bool
    note: str | None
    label: str | None = None
    published: str | None = None

    @property
    def figure(self) -> Figure:
        """The value with its bounds."""
        return Figure(self.y, self.low, self.high, self.valid and self.y is not None, self.n)


@dataclass(frozen=True)
class Series:
    """Points that belong together."""

    name: str
    published: bool
    source: str | None
    points: list[Point]


@dataclass(frozen=True)
class Chart:
    """A figure of a study's report."""

    id: str
    title: str
    kind: Literal["lines", "bars", "matrix", "percentiles"]
    x: Axis
    y: Axis
    series: list[Series]
    qos_us: float | None
    caption: str
    overloaded: str | None = None


@dataclass(frozen=True)
class Claim:
    """A claim with its verdict."""

    id: str
    text: str
    source: str
    verdict: Literal["reproduced", "differs", "open", "not_measurable"]
    measured: str
    reason: str
    p_value: float | None = None
    host_disturbed: bool = False
    more_blocks: int | None = None


@dataclass(frozen=True)
class Cell:
    """One measurement of a study."""

    series: str
    x: float | str
    block: int
    metrics: dict[str, float]
    verdict: Verdict
    trial: str | None
    reference: dict[str, float]
    curve: list[tuple[float, float]] = field(default_factory=list)
    slowed: bool = False
    instead_of: str | None = None


@dataclass(frozen=True)
class Study:
    """A grid of experiments with its figures and judged claims."""

    schema: int
    name: str
    title: str
    question: str
    source: str
    method: str
    effort: Literal["smoke", "quick", "full"] = field(metadata={"name": "form"})
    created: str
    elapsed_s: float
    complete: bool
    interrupted: str | None
    command: list[str]
    version: str
    seed: int
    host: Any
    knobs: list[str]
    notes: list[str]
    limits: list[str]
    figures: list[Chart]
    claims: list[Claim]
    cells: list[Cell]
    deviations: list[str] = field(default_factory=list)
    blocks: int = 0
    raw: dict[str, Any] = field(default_factory=dict, repr=False, metadata={"derived": True})

    def chart(self, id: str) -> Chart:
        """The figure with this `id`. Raises `KeyError` with the known ones."""
        for chart in self.figures:
            if chart.id == id:
                return chart
        known = ", ".join(chart.id for chart in self.figures) or "none"
        raise KeyError(f"the study {self.name} has no figure {id}; it has {known}")


@dataclass(frozen=True)
class Ratio:
    """A ratio b/a; `low` and `high` are an interval if `judged`, otherwise the observed range."""

    value: float
    low: float | None
    high: float | None
    n: int
    judged: bool
    p_value: float | None

    @property
    def figure(self) -> Figure:
        """The ratio with its bounds."""
        return Figure(self.value, self.low, self.high, self.judged, self.n)


@dataclass(frozen=True)
class ComparedPoint:
    """A point of both sides."""

    a: Point
    b: Point
    ratio: Ratio | None
    share: float | None
    invalid: int
    overloaded: bool


@dataclass(frozen=True)
class ComparedSeries:
    """A series of both sides."""

    name: str
    points: list[ComparedPoint]


@dataclass(frozen=True)
class ComparedChart:
    """A figure of both sides."""

    id: str
    title: str
    kind: Literal["lines", "bars", "matrix", "percentiles"]
    x: Axis
    y: Axis
    series: list[ComparedSeries]
    left_out: list[str]


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    label: str
    folder: str
    target: str | None
    machine: str
    created: str


@dataclass(frozen=True)
class Comparison:
    """Two results side by side; ratios are b over a."""

    schema: int
    a: Side
    b: Side
    study: str | None
    paired: bool
    differences: list[str]
    figures: list[ComparedChart]
    notes: list[str]
    raw: dict[str, Any] = field(default_factory=dict, repr=False, metadata={"derived": True})


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def _same_load(a: Trial, b: Trial) -> bool:
    # The tolerances of `LoadPoint` in `crates/results/src/load_point.rs`.
    if a.load_share is not None and b.load_share is not None:
        return abs(a.load_share - b.load_share) < 1e-6
    if a.load_share is None and b.load_share is None:
        return abs(a.offered_rps - b.offered_rps) <= 1e-3 * abs(a.offered_rps)
    return False
