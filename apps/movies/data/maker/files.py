"""Files that services read: the catalogue of search, the factors of the recommender, and the model of advertisements."""

from pathlib import Path

from . import model
from .plan import Plan
from .tables import row, whole, write

NUMBER = "00000001"
"""Of the first factors and the first model; analytics writes the next ones."""


def make(plan: Plan, folder: Path) -> list[Path]:
    """Returns the files."""
    paths = [folder / "catalogue.tsv", folder / f"{NUMBER}.factors", folder / f"{NUMBER}.ads"]
    write(
        paths[0],
        (
            row(str(film.movie), film.title, str(film.year), film.genre, film.director, plot)
            for film, plot in zip(plan.films, plan.plots)
        ),
    )
    of_users, of_movies = model.factors(plan.wanted.seed, plan.reviews, plan.wanted.users, len(plan.films))
    for path, data in ((paths[1], model.packed(of_users, of_movies)), (paths[2], model.ads(plan.films, of_movies))):
        with whole(path) as file:
            file.write(data)
    return paths
