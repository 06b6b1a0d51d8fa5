"""Errors of reading."""

from __future__ import annotations


class ResultError(Exception):
    """A file that is no result, is damaged, or was written by a later version."""


class DamagedError(ResultError):
    """A file with contents that the format does not allow."""


class TooNewError(ResultError):
    """A result of a later schema."""


class MissingExtraError(ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; pip install 'taillight[{extra}]' adds it")
