"""The tables of the three databases; `sql/` says what their rows hold."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from . import accounts, clips, photos, posters, workers
from .plan import Plan
from .progress import Progress
from .tables import doc, octets, row, write

BUCKET = 20
"""Reviews of a bucket. Source: the contract of movie-review and user-review."""


def movies(plan: Plan, folder: Path, progress: Progress) -> list[Path]:
    """All tables of films but the pictures."""
    films, reviews = plan.films, plan.reviews
    sums = np.bincount(reviews.movie, weights=reviews.stars, minlength=len(films) + 1).astype(int)
    counts = np.bincount(reviews.movie, minlength=len(films) + 1)
    tables = {
        "movies": (row(str(film.movie), doc(info(plan, film.movie))) for film in films),
        "plots": (row(str(film.movie), doc({"plot": plot})) for film, plot in zip(films, plan.plots)),
        "persons": (row(str(at), doc({"person": at, "name": name})) for at, name in enumerate(plan.persons, 1)),
        "ratings": (
            row(str(film.movie), doc({"count": int(counts[film.movie]), "sum": int(sums[film.movie])})) for film in films
        ),
        "rated": (
            row(f"{movie}:{user}", doc({"review": at, "stars": stars}))
            for at, (movie, user, stars) in enumerate(
                zip(reviews.movie.tolist(), reviews.user.tolist(), reviews.stars.tolist()), 1
            )
        ),
        "titles": (row(film.title.lower(), doc({"movie": film.movie})) for film in films),
    }
    return written(folder, tables, progress)


def info(plan: Plan, movie: int) -> dict:
    """The document of a film."""
    film, credit = plan.films[movie - 1], plan.credits[movie - 1]
    # The clips take turns, so that each belongs to the same number of films.
    clip = (movie - 1) % plan.wanted.clips + 1
    return {
        "movie": movie,
        "title": film.title,
        "year": film.year,
        "minutes": credit.minutes,
        "certificate": film.certificate,
        "genre": film.genre,
        "director": film.director,
        "cast": credit.cast,
        "photos": credit.photos,
        "clip": clips.name(clip),
        "seconds": clips.seconds(clip),
        "cents": credit.cents,
        "renditions": [{"height": rung.height, "kbps": rung.kbps} for rung in clips.LADDER],
    }


def pictures(plan: Plan, folder: Path, progress: Progress) -> list[Path]:
    """Thumbnails and photos."""
    items = [(plan.wanted.seed, film, plan.cast(film.movie), plan.credits[film.movie - 1].photos) for film in plan.films]

    def rows() -> Iterator[str]:
        for movie, (thumbnail, images) in enumerate(workers.each(_pictures, items, 4), 1):
            yield row(f"t:{movie}", octets(thumbnail))
            for number, image in enumerate(images):
                yield row(f"p:{movie}:{number}", octets(image))
            progress.at(movie, len(items))

    write(folder / "pictures.tsv", rows())
    return [folder / "pictures.tsv"]


def _pictures(item) -> tuple[bytes, list[bytes]]:
    seed, film, cast, count = item
    return posters.make(seed, film, cast), photos.make(seed, film, count)


def reviews(plan: Plan, folder: Path, progress: Progress) -> list[Path]:
    """Reviews, and the lists of films."""
    of = plan.reviews

    def texts() -> Iterator[str]:
        for at in range(len(of)):
            yield row(
                str(at + 1),
                doc(
                    {
                        "review": at + 1,
                        "movie": int(of.movie[at]),
                        "user": int(of.user[at]),
                        "text": plan.text(at + 1),
                        "stars": int(of.stars[at]),
                        "time_ms": int(of.time_ms[at]),
                    }
                ),
            )
            if at % 100 == 0:
                progress.at(at, len(of))

    return written(folder, {"reviews": texts(), "movie_reviews": buckets(of.movie), "listed": pairs(of.movie)}, progress)


def users(plan: Plan, folder: Path, progress: Progress) -> list[Path]:
    """Users and their names; none has paid yet."""
    count = plan.wanted.users

    def rows() -> Iterator[str]:
        for user, hashed in enumerate(accounts.hashes(plan.wanted.seed, count, plan.wanted.cost), 1):
            fields = {"user": user, "name": accounts.name(user), "hash": hashed, "balance_cents": accounts.BALANCE_CENTS}
            yield row(str(user), doc(fields))
            if user % 100 == 0:
                progress.at(user, count)

    names = (row(accounts.name(user), doc({"user": user})) for user in range(1, count + 1))
    return written(folder, {"users": rows(), "names": names, "charges": (), "rentals": ()}, progress)


def lists(plan: Plan, folder: Path, progress: Progress) -> list[Path]:
    """The lists of users who wrote reviews; the others have none."""
    of = plan.reviews
    seen = (row(f"{user}#{movie}") for user, movie in zip(of.user.tolist(), of.movie.tolist()))
    return written(folder, {"user_reviews": buckets(of.user), "listed": pairs(of.user), "seen": seen}, progress)


def pairs(owner: np.ndarray) -> Iterator[str]:
    """A row for each review, by its film or user."""
    return (row(f"{one}:{at}") for at, one in enumerate(owner.tolist(), 1))


def buckets(owner: np.ndarray) -> Iterator[str]:
    """The count and the buckets of each owner of reviews."""
    numbers: dict[int, list[int]] = {}
    for at, one in enumerate(owner.tolist(), 1):
        numbers.setdefault(one, []).append(at)
    for one in sorted(numbers):
        mine = numbers[one]
        yield row(str(one), doc({"n": len(mine)}))
        for place in range(0, len(mine), BUCKET):
            yield row(f"{one}#{place // BUCKET}", doc({"reviews": mine[place : place + BUCKET]}))


def written(folder: Path, tables: dict, progress: Progress) -> list[Path]:
    paths = []
    for name, rows in tables.items():
        write(folder / f"{name}.tsv", rows)
        paths.append(folder / f"{name}.tsv")
    return paths
