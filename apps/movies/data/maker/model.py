"""The first factors of users and films, and the first model of advertisements; later ones are made by analytics."""

import json
import struct

import numpy as np

from . import draws
from .facts import Film
from .taste import Reviews

RANK = 16
"""Factors of a user or a film. Source: the contract of the file format; Spark's default is 10."""
ROUNDS = 10
"""Source: Spark's default of `maxIter`."""
REGULARIZATION = 0.1
"""Times the number of reviews, as in Zhou et al. 2008 and Spark."""
MAGIC = b"ALS1"
ADS_A_GENRE = 3

GOODS = {
    "Action": "Ironside boots: run first, ask later|Volta batteries, for when it matters|Redline driving gloves",
    "Adventure": "Compass & Sons, maps for where there are none|Tall Tent, sleeps six and a dog|Harbour Lines: ships to the islands",
    "Black Comedy": "Grimm & Daughter, funerals with a smile|Mortimer's gin, dry as you like it|A clean conscience, from 9.99 a month",
    "Comedy": "Whoopee biscuits: the crumbs are free|Left Foot shoes, also for the right|Papa Pico's pizza, four doors down",
    "Concert/Performance": "Evergreen vinyl, pressed on Mondays|Encore ear plugs|Bell & Brass, instruments for hire",
    "Documentary": "The Long Read, a newspaper for Sundays|Museum pass: forty houses, one card|Open Window, trips to see for yourself",
    "Drama": "Quiet Rooms hotel|Ink & Paper, letters still matter|Linden tea, for long evenings",
    "Horror": "Nightlight lamps: leave one on|Oak & Iron, doors that stay shut|Cellar Dry, for cellars",
    "Musical": "Tap & Tailor, shoes that sing|Curtain Call, theatre tickets until noon|Singing lessons at Madame Flora's",
    "Romantic Comedy": "Two Spoons, dinner for two|Peony & Rose, flowers within the hour|Platform Nine umbrellas",
    "Thriller/Suspense": "Sleeper trains: arrive before you are missed|Halyard locks and safes|Second Opinion, private inquiries",
    "Western": "Dry Gulch coffee, boiled twice|Prairie hats, since the dust|Longrider saddles and repairs",
}


def factors(seed: int, reviews: Reviews, users: int, movies: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors of users and of films whose product is near the stars, by alternating least squares.

    A user without reviews gets the mean of the others, whose order of films is that of their general liking.
    """
    random = draws.arrays(seed, "factors", users, movies)
    of_movies = np.abs(random.normal(0, 1 / np.sqrt(RANK), size=(movies, RANK))) + 0.5
    of_users = np.zeros((users, RANK))
    user, movie, stars = reviews.user - 1, reviews.movie - 1, reviews.stars.astype(float)
    for _ in range(ROUNDS):
        of_users = solved(of_movies, movie, user, stars, users)
        of_movies = solved(of_users, user, movie, stars, movies)
    silent = np.ones(users, dtype=bool)
    silent[user] = False
    if not silent.all():
        of_users[silent] = of_users[~silent].mean(axis=0)
    return of_users.astype("<f4"), of_movies.astype("<f4")


def solved(fixed: np.ndarray, there: np.ndarray, here: np.ndarray, stars: np.ndarray, count: int) -> np.ndarray:
    """Factors of the side `here` that fit the fixed ones of the other side best; zeros of those without a review."""
    order = np.argsort(here, kind="stable")
    present, begins, sizes = np.unique(here[order], return_index=True, return_counts=True)
    rows = fixed[there[order]]
    squares = np.add.reduceat(rows[:, :, None] * rows[:, None, :], begins, axis=0)
    sides = np.add.reduceat(rows * stars[order, None], begins, axis=0)
    squares += REGULARIZATION * sizes[:, None, None] * np.eye(RANK)
    out = np.zeros((count, RANK))
    out[present] = np.linalg.solve(squares, sides[:, :, None])[:, :, 0]
    return out


def packed(of_users: np.ndarray, of_movies: np.ndarray) -> bytes:
    """The file of factors."""
    head = MAGIC + struct.pack("<III", RANK, len(of_users), len(of_movies))
    return head + of_users.tobytes() + of_movies.tobytes()


def ads(films: list[Film], of_movies: np.ndarray) -> bytes:
    """Advertisements of each genre. Weights point from the mean film to those of the genre, and have the length 1."""
    mean = of_movies.mean(axis=0)
    out = []
    for genre in sorted(GOODS):
        chosen = [film for film in films if film.genre == genre]
        away = of_movies[[film.movie - 1 for film in chosen]].mean(axis=0) - mean if chosen else np.zeros(RANK)
        length = float(np.linalg.norm(away)) or 1.0
        for place, text in enumerate(GOODS[genre].split("|")[:ADS_A_GENRE]):
            # It leads to a film of its genre.
            movie = chosen[place % len(chosen)].movie if chosen else 1
            out.append(
                {
                    "ad": len(out) + 1,
                    "text": text,
                    "link": f"/movie?id={movie}",
                    "genre": genre,
                    "weights": [round(float(weight), 6) for weight in away / length],
                }
            )
    return json.dumps({"version": 1, "ads": out}, ensure_ascii=False, indent=1).encode() + b"\n"
