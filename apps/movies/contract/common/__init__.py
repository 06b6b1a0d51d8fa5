"""The cases that every service must pass, whatever it does."""

# The order of these imports is the order of the cases.
from common import exchange, deadlines, garbage, load, measured, histograms, delays, faults, breaker, life, http  # noqa: F401, I001
from common.probe import CASES, Skip  # noqa: F401
