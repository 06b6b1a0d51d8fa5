"""Reads the results of Taillight into typed records, data frames and charts.

>>> import taillight
>>> study = taillight.read("result.taillight.tgz")
>>> taillight.plot(study)
"""

from .errors import DamagedError, MissingExtraError, ResultError, TooNewError
from .frames import cells, points, ratios, to_pandas, to_polars, trials, windows
from .hlog import Histogram, Interval, Log, read_hlog
from .plot import plot
from .read import (
    Result,
    read,
    read_comparison,
    read_experiment,
    read_log,
    read_study,
    read_table,
)
from .records import Comparison, Experiment, Figure, Load, Study, Summary, Target, Trial, Verdict

__all__ = [
    "Comparison",
    "DamagedError",
    "Experiment",
    "Figure",
    "Histogram",
    "Interval",
    "Load",
    "Log",
    "MissingExtraError",
    "Result",
    "ResultError",
    "Study",
    "Summary",
    "Target",
    "TooNewError",
    "Trial",
    "Verdict",
    "cells",
    "plot",
    "points",
    "ratios",
    "read",
    "read_comparison",
    "read_experiment",
    "read_hlog",
    "read_log",
    "read_study",
    "read_table",
    "to_pandas",
    "to_polars",
    "trials",
    "windows",
]
