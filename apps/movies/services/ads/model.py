"""What is known of advertisements, users and films: files of the data set, as arrays."""

import json
import os
import pathlib
import struct
from dataclasses import dataclass

import numpy as np
from movies_idl.ttypes import Ad

# More than the data set may have, so that a broken file does not take the memory. Units: bytes.
LARGEST_FILE = 2**30
# Maximum rank of films and users; the analytics make 8 to 64.
MOST_RANK = 1024
FACTORS = struct.Struct("<4sIII")
# Rows that are looked at at once, as that takes a byte for each number.
CHECKED = 65536


def _bytes(file: pathlib.Path) -> bytes:
    size = file.stat().st_size
    if size > LARGEST_FILE:
        raise ValueError(f"{size} bytes; the limit is {LARGEST_FILE}")
    return file.read_bytes()


@dataclass(frozen=True)
class Factors:
    """Rows from 0: user 1 has row 0."""

    users: np.ndarray
    movies: np.ndarray

    @classmethod
    def read(cls, file: pathlib.Path) -> "Factors":
        with file.open("rb") as data:
            size = os.fstat(data.fileno()).st_size
            if size < FACTORS.size:
                raise ValueError(f"{size} bytes are no factors")
            magic, rank, users, movies = FACTORS.unpack(data.read(FACTORS.size))
            rows = users + movies
            if magic != b"ALS1" or not 1 <= rank <= MOST_RANK or size != FACTORS.size + 4 * rank * rows or size > LARGEST_FILE:
                raise ValueError(f"{size} bytes are not factors of rank {rank}, {users} users and {movies} films")
            # Mapped, since the factors of a million users fill the service's memory limit: the kernel can reclaim
            # mapped pages. Files are never changed in place.
            mapped = np.memmap(data, dtype="<f4", mode="r", offset=FACTORS.size, shape=(rows, rank)) if rows else np.empty((0, rank))
            values = np.asarray(mapped)
        if not all(np.isfinite(values[at : at + CHECKED]).all() for at in range(0, rows, CHECKED)):
            raise ValueError("factors that are not finite")
        return cls(values[:users], values[users:])

    def of(self, user: int, movie: int) -> np.ndarray | None:
        """Those of the user, else of the film, else None: one without reviews and rentals has a row of zeros."""
        for rows, number in ((self.users, user), (self.movies, movie)):
            if 1 <= number <= len(rows) and rows[number - 1].any():
                return rows[number - 1]
        return None


@dataclass(frozen=True)
class Advertisements:
    ads: list
    genres: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray

    @classmethod
    def read(cls, file: pathlib.Path) -> "Advertisements":
        try:
            ads = json.loads(_bytes(file))["ads"]
            rank = len(ads[0]["weights"]) if ads else 0
            weights = np.array([one["weights"] for one in ads], dtype=np.float32).reshape(len(ads), rank)
            if not np.isfinite(weights).all():
                raise ValueError("weights that are not finite")
            return cls(
                ads=[Ad(ad=int(one["ad"]), text=str(one["text"]), link=str(one["link"])) for one in ads],
                genres=np.array([str(one["genre"]) for one in ads], dtype=object),
                numbers=np.array([int(one["ad"]) for one in ads], dtype=np.int64),
                weights=weights,
            )
        except (KeyError, TypeError, IndexError, OverflowError) as error:
            raise ValueError(f"not a model of advertisements: {error!r}") from error

    @classmethod
    def none(cls) -> "Advertisements":
        return cls([], np.empty(0, dtype=object), np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32))


def read_genres(file: pathlib.Path) -> dict:
    """By film, from the catalogue: lines of M, title, year, genre, director, plot with tabs between."""
    genres = {}
    for line in _bytes(file).decode("utf-8").splitlines():
        parts = line.split("\t")
        if len(parts) < 4:
            raise ValueError(f"{file}: a line of {len(parts)} parts; it has 6")
        genres[int(parts[0])] = parts[3]
    return genres
