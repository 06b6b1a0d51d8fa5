"""What is known of the films: vega-datasets' `movies.json`, with a rule for each of its oddities.

The rules, by field (counts are of the 1000 best of version 3.2.1):

title     9 of 3201 are numbers (300, 1776): their digits. One is missing: that film is left out. 13 hold the bytes of one
          character set read as another ("LÈon"): they are turned back. 6 titles are those of two films each: the film of the
          lower rank gets its year ("Ben-Hur (1959)"), so that a title names one film.
year      Dates of the time before 1969 came from two digits and may lie in the future: a year after 2010, the last of the data,
          is 100 years too late ("Dec 30 2025": 1925).
minutes   628 are missing: drawn, about 108 (`credits.py`).
rating    Films without one, or without votes, are left out. The best are those of the highest rating, then of the most votes,
          then those that come first in the file.
director  276 are missing: empty.
certificate  242 are missing: empty; so is "Open", which two have and which is none.
genre     88 are missing: that which goes with the creative type, else Drama.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from .errors import Problem

VERSION = "3.2.1"
"""Of npm's package vega-datasets; `package-lock.json` has the same."""
SHA256 = "e63c499759e3b07b49563e036f55290f87feb56def8703ec049ca305ab1523d3"
"""Of its file data/movies.json."""
LAST_YEAR = 2010
"""The year in which the data were gathered."""
BY_TYPE = {
    "Factual": "Documentary",
    "Fantasy": "Adventure",
    "Kids Fiction": "Adventure",
    "Science Fiction": "Adventure",
    "Super Hero": "Action",
}
"""The genre of a film that has only a creative type."""
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Film:
    """A film as the source knows it."""

    movie: int
    """Its rank, from 1 on."""
    title: str
    year: int
    minutes: int | None
    certificate: str
    genre: str
    kind: str
    """The source's creative type; empty where it is not known."""
    director: str
    rating: float
    votes: int


def read(path: Path) -> list[dict]:
    """The rows of the source, if it is the one that the rules were written for."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise Problem(f"{path} is not data/movies.json of vega-datasets {VERSION}: its SHA-256 is {found}, not {SHA256}")
    return json.loads(data)


def best(rows: list[dict], count: int) -> list[Film]:
    """The `count` films that are rated best."""
    rated = [row for row in rows if row["Title"] is not None and row["IMDB Rating"] is not None and row["IMDB Votes"]]
    if count > len(rated):
        raise Problem(f"there are {len(rated)} films with a rating, not {count}; ask for fewer by --movies")
    rated.sort(key=lambda row: (-row["IMDB Rating"], -row["IMDB Votes"]))
    films, taken = [], set()
    for movie, row in enumerate(rated[:count], 1):
        year = year_of(row["Release Date"])
        title = unique(title_of(row["Title"]), year, taken)
        taken.add(title.lower())
        kind = row["Creative Type"] or ""
        films.append(
            Film(
                movie=movie,
                title=title,
                year=year,
                minutes=row["Running Time min"],
                certificate=certificate_of(row["MPAA Rating"]),
                genre=row["Major Genre"] or BY_TYPE.get(kind, "Drama"),
                kind=kind,
                director=row["Director"] or "",
                rating=float(row["IMDB Rating"]),
                votes=row["IMDB Votes"],
            )
        )
    return films


def title_of(given: object) -> str:
    """A title as text: numbers by their digits, and letters that were taken for those of a Macintosh turned back."""
    text = str(given).strip()
    if text.isascii():
        return text
    try:
        return text.encode("mac_roman").decode("cp1252")
    except UnicodeError:
        # A character outside Mac Roman ("Alien³") shows that the text was decoded correctly.
        return text


def unique(title: str, year: int, taken: set[str]) -> str:
    """A title that no film of a higher rank has."""
    if title.lower() not in taken:
        return title
    name, count = f"{title} ({year})", 2
    while name.lower() in taken:
        name, count = f"{title} ({year}, {count})", count + 1
    return name


def year_of(date: str | None) -> int:
    """The year of a date such as "Dec 30 2025"; 0 where there is none."""
    found = re.fullmatch(r"([A-Z][a-z]{2}) (\d{2}) (\d{4})", date or "")
    if not found or found[1] not in MONTHS:
        return 0
    year = int(found[3])
    return year - 100 if year > LAST_YEAR else year


def certificate_of(given: str | None) -> str:
    """Such as PG-13; empty where it is not known."""
    return "" if given in (None, "Open") else given
