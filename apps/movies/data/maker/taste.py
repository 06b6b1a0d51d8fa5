"""Who reviews which film, and with how many stars.

Users and films have hidden factors, which the recommender is to find: a user chooses, and likes, films that point the same way.
The stars of a film add up so that their mean is the film's rating as exactly as whole stars can be.
"""

from dataclasses import dataclass

import numpy as np

from . import draws
from .facts import Film

MEAN = 20
"""Reviews a film, on average before the bounds."""
LEAST = 5
"""With fewer, the mean of whole stars may be farther from the rating than 0.1: half a star divided by 5."""
MOST = 200
"""Source: 10 buckets of 20."""
HIDDEN = 8
"""Factors of the taste; fewer than the recommender has (`model.RANK`)."""
CHOICE = 0.9
"""How strongly taste steers what is chosen."""
STARS = 1.5
"""Stars for one standard deviation of taste."""
NOISE = 0.8
"""Stars that no taste explains."""
BEGIN_MS, END_MS = 1_262_304_000_000, 1_577_836_800_000
"""2010 to 2019: after the films, and before the epoch of the numbers of new reviews (2020)."""


@dataclass(frozen=True)
class Reviews:
    """Columns of all reviews in the order of their numbers, which is that of their times. Review 1 is at 0."""

    movie: np.ndarray
    user: np.ndarray
    stars: np.ndarray
    time_ms: np.ndarray

    def __len__(self) -> int:
        return len(self.movie)


def draw(seed: int, films: list[Film], users: int) -> Reviews:
    """All reviews."""
    random = draws.arrays(seed, "taste", len(films), users)
    likes = random.normal(size=(users, HIDDEN))
    kinds = {genre: random.normal(size=HIDDEN) for genre in sorted({film.genre for film in films})}
    points = np.stack([0.8 * kinds[film.genre] + 0.6 * random.normal(size=HIDDEN) for film in films])
    # A standard deviation of about 1 between a user and a film.
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    # Some write hundreds, many write none.
    activity = random.normal(0, 1.3, size=users)
    columns: list[list[np.ndarray]] = [[], [], [], []]
    for film, point, count in zip(films, points, counts(films, users)):
        taste = likes @ point
        keys = activity + CHOICE * taste + random.gumbel(size=users)
        chosen = np.sort(np.argpartition(-keys, count - 1)[:count])
        felt = film.rating + STARS * (taste[chosen] - taste[chosen].mean()) + random.normal(0, NOISE, size=count)
        given = exact(felt, round(film.rating * count))
        times = random.integers(BEGIN_MS, END_MS, size=count)
        for column, values in zip(columns, (np.full(count, film.movie), chosen + 1, given, times)):
            column.append(values)
    movie, user, stars, time_ms = (np.concatenate(column) for column in columns)
    order = np.lexsort((user, movie, time_ms))
    return Reviews(movie[order], user[order], stars[order], time_ms[order])


def counts(films: list[Film], users: int) -> np.ndarray:
    """Reviews of each film, in proportion to its votes."""
    votes = np.array([film.votes for film in films], dtype=float)
    wanted = np.rint(votes * MEAN * len(films) / votes.sum()).astype(int)
    return np.minimum(np.clip(wanted, LEAST, MOST), users)


def exact(felt: np.ndarray, total: int) -> np.ndarray:
    """Whole stars from 1 to 10 that add up to `total`, each as near to what was felt as that allows."""
    stars = np.clip(np.rint(felt), 1, 10).astype(int)
    while (missing := total - int(stars.sum())) != 0:
        step = 1 if missing > 0 else -1
        free = np.flatnonzero((stars + step >= 1) & (stars + step <= 10))
        # Reviews whose rating changes least by one star more, or fewer.
        order = free[np.argsort(-step * (felt[free] - stars[free]), kind="stable")]
        stars[order[: abs(missing)]] += step
    return stars
