"""Tables in PostgreSQL's text format of COPY, and files that are whole or not there."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

PARTIAL = ".partial"
"""Ends the name of a file or folder that is being written."""
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
BACK = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}


def doc(value: dict) -> str:
    """JSON as a field of a row."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def row(*fields: str) -> str:
    """A line of fields."""
    return "\t".join(field.translate(ESCAPES) for field in fields) + "\n"


def octets(data: bytes) -> str:
    """A value of type bytea as a field."""
    return "\\x" + data.hex()


def fields(line: str) -> list[str]:
    """The fields of a line."""
    return [plain(field) for field in line.rstrip("\n").split("\t")]


def plain(field: str) -> str:
    if "\\" not in field:
        return field
    out, at = [], 0
    while (next_at := field.find("\\", at)) >= 0:
        out += [field[at:next_at], BACK[field[next_at : next_at + 2]]]
        at = next_at + 2
    return "".join(out) + field[at:]


def read(path: Path) -> Iterator[list[str]]:
    """The rows of a table."""
    # Only a line feed ends a row; texts may hold others that end lines.
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield fields(line)


@contextmanager
def whole(path: Path):
    """A binary file that gets its name once it is complete and on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("." + path.name + PARTIAL)
    with partial.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def write(path: Path, rows: Iterable[str]) -> None:
    """Writes rows to the table `path`."""
    with whole(path) as file:
        for line in rows:
            file.write(line.encode())


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    hash_ = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            hash_.update(block)
    return hash_.hexdigest()
