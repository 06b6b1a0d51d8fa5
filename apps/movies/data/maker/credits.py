"""What the source does not say of a film: who plays, how long it lasts, what renting it costs, how many photos there are."""

from dataclasses import dataclass

import numpy as np

from . import draws, names
from .facts import Film

PERSONS_A_FILM = 2.5
"""Persons to choose from, for each film: with 4 to 10 roles each a person has about 2.8 films."""
CAST = (4, 10)
"""Roles of a film."""
SKEW = 0.75
"""Power of the rank in the weight of a person: a few are in dozens of films, and many in one."""
PHOTOS = 8
"""At most, of a film."""
MINUTES = {"Documentary": (95, 15), "Comedy": (102, 12), "Horror": (98, 11), "Adventure": (117, 20), "Musical": (119, 20)}
"""Mean and standard deviation of a length that is not known; of other genres `MINUTES_ELSE`."""
MINUTES_ELSE = (112, 18)
MINUTES_RANGE = (72, 200)


@dataclass(frozen=True)
class Credits:
    """What was drawn for one film."""

    minutes: int
    cast: list[int]
    photos: int
    cents: int


def draw(seed: int, films: list[Film]) -> tuple[list[Credits], list[str]]:
    """The credits of each film, and the names of the persons from number 1 on."""
    random = draws.arrays(seed, "credits", len(films))
    pool = max(int(len(films) * PERSONS_A_FILM), CAST[1] * 2)
    weights = (np.arange(pool) + 3.0) ** -SKEW
    weights /= weights.sum()
    numbers: dict[int, int] = {}
    out = []
    for film in films:
        size = int(random.integers(CAST[0], CAST[1] + 1))
        chosen = random.choice(pool, size=size, replace=False, p=weights)
        # Numbers in the order of the first film, so that each person has one.
        cast = [numbers.setdefault(int(one), len(numbers) + 1) for one in chosen]
        mean, deviation = MINUTES.get(film.genre, MINUTES_ELSE)
        drawn = int(np.clip(round(random.normal(mean, deviation)), *MINUTES_RANGE))
        photos = 1 + int(random.binomial(PHOTOS - 1, 0.5))
        out.append(Credits(film.minutes or drawn, cast, photos, cents(film, random)))
    return out, names.distinct(draws.words(seed, "persons", len(films)), len(numbers))


def cents(film: Film, random: np.random.Generator) -> int:
    """New and good films cost more: 1.99 to 5.99."""
    new = (film.year - 1970) / 40
    good = (film.rating - 6.5) / 2.5
    steps = np.clip(round(1.5 * new + 2 * good + random.normal(0, 0.8)), 0, 4)
    return 199 + 100 * int(steps)
