"""Reads results: folders, packed files, single records, and tables that were exported."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import json
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from .decode import parse, record
from .errors import DamagedError, MissingExtraError, ResultError, TooNewError
from .hlog import Log, parse_hlog
from .records import (
    COMPARISON_SCHEMA,
    EXPERIMENT_SCHEMA,
    STUDY_SCHEMA,
    Comparison,
    Experiment,
    Study,
    Trial,
)

Result = Experiment | Study | Comparison
#: A value of an exported table; `None` for an empty cell.
Cell = str | int | float | bool | None
R = TypeVar("R", Experiment, Study, Comparison)

_LIST, _FORMAT = "pack.json", 1
_RECORDS = ("study.json", "result.json")
#: Longest list of files, largest file that is read, and longest end behind the last file. Source of the
#: first and the last: `crates/results/src/pack/read.rs`.
_LONGEST_LIST, _LARGEST_FILE, _LONGEST_END = 64 << 20, 1 << 30, 64 << 10


def read(path: str | Path) -> Result:
    """Reads the result at `path`: a folder, a file of `taillight pack`, or a record as JSON.

    Raises `DamagedError`, `TooNewError` or `ResultError`, which name the file and the defect, and
    `OSError` of the system.
    """
    path = Path(path)
    if path.is_dir():
        for name in _RECORDS:
            if (path / name).is_file():
                return _record((path / name).read_bytes(), str(path / name))
        raise ResultError(
            f"{path} holds neither result.json nor study.json; "
            "give the folder that a run printed, such as results/…-demo"
        )
    with path.open("rb") as file:
        start = file.read(2)
    if start == b"\x1f\x8b":
        names = _packed(path, _RECORDS)
        for name in _RECORDS:
            if name in names:
                return _record(names[name], f"{path}:{name}")
        raise DamagedError(f"{path} is not a result of Taillight: it lacks result.json and study.json")
    return _record(path.read_bytes(), str(path))


def read_experiment(path: str | Path) -> Experiment:
    """Reads an experiment; raises `ResultError` for a result of another kind."""
    return _of(Experiment, path)


def read_study(path: str | Path) -> Study:
    """Reads a study; raises `ResultError` for a result of another kind."""
    return _of(Study, path)


def read_comparison(path: str | Path) -> Comparison:
    """Reads the record of a comparison, such as `compare.json`; raises `ResultError` for another."""
    return _of(Comparison, path)


def read_log(path: str | Path, trial: Trial) -> Log:
    """Reads the histograms of a trial from the result's folder or packed file."""
    if trial.hlog is None or not _is_plain(trial.hlog):
        raise ResultError(f"{path}: the trial {trial.id} has no histograms")
    path = Path(path)
    if path.is_dir():
        return parse_hlog((path / trial.hlog).read_bytes(), str(path / trial.hlog))
    found = _packed(path, (trial.hlog,))
    if trial.hlog not in found:
        raise ResultError(f"{path} lacks {trial.hlog}: it was packed with --figures-only")
    return parse_hlog(found[trial.hlog], f"{path}:{trial.hlog}")


def read_table(path: str | Path) -> list[dict[str, Cell]]:
    """Reads a table that Taillight exported: `trials.csv`, `windows.csv`, or the same as Parquet.

    Parquet takes the extra `polars`.
    """
    path = Path(path)
    if path.suffix == ".parquet":
        try:
            import polars
        except ImportError:
            raise MissingExtraError("polars", "polars") from None
        try:
            rows: list[dict[str, Cell]] = polars.read_parquet(path).to_dicts()
        except polars.exceptions.PolarsError as error:
            raise DamagedError(f"{path} is not a Parquet file: {error}") from None
        return rows
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            if "trial" not in header:
                raise DamagedError(f"{path} is not a table of Taillight: it has no column trial")
            table = []
            for cells in reader:
                if len(cells) != len(header):
                    said = f"line {reader.line_num} has {len(cells)} cells, the header {len(header)}"
                    raise DamagedError(f"{path}: {said}")
                pairs = zip(header, cells, strict=True)
                table.append({name: _cell(name, cell) for name, cell in pairs})
            return table
    except (csv.Error, UnicodeDecodeError) as error:
        raise DamagedError(f"{path} is not a table of Taillight: {error}") from None


#: Columns of text. All others hold numbers or flags.
_TEXT = {
    "result", "trial", "target", "purpose", "started", "verdict", "verdict_words", "loop",
    "transport", "within_us_share", "rests_on", "slowed",
}  # fmt: skip


def _cell(column: str, text: str) -> Cell:
    if text == "":
        return None
    if column in _TEXT:
        return text
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        raise DamagedError(f"the column {column} holds {text!r}, which is not a number") from None


def _of(kind: type[R], path: str | Path) -> R:
    found = read(path)
    if not isinstance(found, kind):
        names = (type(found).__name__.lower(), kind.__name__.lower())
        raise ResultError(f"{path} is a result of the kind {names[0]}, not {names[1]}")
    return found


def _record(text: bytes, name: str) -> Result:
    value = parse(text, name)
    schema = value.get("schema")
    if type(schema) is not int or schema < 0:
        raise DamagedError(f"{name} is not a result of Taillight: it has no schema number")
    if "cells" in value:
        return _read(Study, value, name, schema, STUDY_SCHEMA)
    if "trials" in value:
        return _read(Experiment, value, name, schema, EXPERIMENT_SCHEMA)
    if "a" in value and "b" in value:
        return _read(Comparison, value, name, schema, COMPARISON_SCHEMA)
    # A record of a later schema may have other fields.
    if schema > EXPERIMENT_SCHEMA:
        raise _too_new(name, schema, EXPERIMENT_SCHEMA)
    raise DamagedError(
        f"{name} is not a result of Taillight: it is neither an experiment nor a study nor a comparison"
    )


def _read(kind: type[R], value: dict[str, Any], name: str, schema: int, known: int) -> R:
    if schema > known:
        raise _too_new(name, schema, known)
    try:
        return dataclasses.replace(record(kind, value, kind.__name__.lower()), raw=value)
    except DamagedError as error:
        raise DamagedError(f"{name} is not a result of Taillight: {error}") from None


def _too_new(name: str, found: int, known: int) -> TooNewError:
    return TooNewError(
        f"{name} has schema {found}; this version reads up to {known}: use a newer taillight"
    )


def _is_plain(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and str(path) == name


def _packed(path: Path, wanted: tuple[str, ...]) -> dict[str, bytes]:
    """The wanted files of a packed result, which is read to its end so that gzip checks it.

    Raises `DamagedError` for a file that the list lacks, or of another size.
    """
    none = "it does not begin with a list of its files: taillight pack makes such a file"
    found: dict[str, bytes] = {}
    listed: dict[str, int] | None = None
    seen: set[str] = set()
    try:
        with gzip.open(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for entry in archive:
                if listed is None:
                    file = archive.extractfile(entry) if entry.name == _LIST else None
                    if file is None or entry.size > _LONGEST_LIST:
                        raise ValueError(none)
                    listed = _listed(json.loads(file.read()))
                    continue
                if not entry.isreg() or listed.get(entry.name) != entry.size or entry.name in seen:
                    raise ValueError(f"{entry.name!r} is not in its list, or has another size")
                seen.add(entry.name)
                if entry.name in wanted:
                    if entry.size > _LARGEST_FILE:
                        raise ValueError(f"{entry.name} has {entry.size} bytes, over 1 GiB")
                    file = archive.extractfile(entry)
                    found[entry.name] = file.read() if file else b""
            # Reads the checksum of gzip, which is behind the last block of tar.
            if len(stream.read(_LONGEST_END + 1)) > _LONGEST_END:
                raise ValueError("something follows its last file")
    except (tarfile.TarError, ValueError, EOFError, zlib.error, RecursionError) as error:
        raise DamagedError(f"{path} is not a result of Taillight: {error}") from None
    except OSError as error:
        # gzip reports a wrong checksum in this way.
        if error.errno is not None:
            raise
        raise DamagedError(f"{path} is not a result of Taillight: {error}") from None
    if listed is None:
        raise DamagedError(f"{path} is not a result of Taillight: {none}")
    for name in sorted(set(listed) - seen):
        raise DamagedError(f"{path} is not a result of Taillight: {name} is missing")
    return found


def _listed(value: Any) -> dict[str, int]:
    if not isinstance(value, dict) or not isinstance(value.get("files"), list):
        raise ValueError("its list cannot be read")
    if value.get("format") != _FORMAT:
        given = value.get("format")
        raise ValueError(f"its format is {given}, this version reads {_FORMAT}: use a newer taillight")
    sizes: dict[str, int] = {}
    for file in value["files"]:
        name = file.get("path") if isinstance(file, dict) else None
        size = file.get("bytes") if isinstance(file, dict) else None
        if not isinstance(name, str) or type(size) is not int or not _is_plain(name) or name in sizes:
            raise ValueError(f"it lists {name!r}, which leads elsewhere or is listed twice")
        sizes[name] = size
    return sizes
