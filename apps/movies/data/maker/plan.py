"""The data set as columns in memory, each drawn when it is first asked for."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import credits, critiques, facts, plots, taste


@dataclass(frozen=True)
class Wanted:
    """What is asked for."""

    users: int
    movies: int
    seed: int
    clips: int
    cost: int
    """Of the hashes of passwords."""


class Plan:
    """Everything but pictures, clips and hashes."""

    def __init__(self, wanted: Wanted, source: Path):
        self.wanted = wanted
        self.source = source

    @cached_property
    def films(self) -> list[facts.Film]:
        return facts.best(facts.read(self.source), self.wanted.movies)

    @cached_property
    def drawn(self) -> tuple[list[credits.Credits], list[str]]:
        return credits.draw(self.wanted.seed, self.films)

    @property
    def credits(self) -> list[credits.Credits]:
        return self.drawn[0]

    @property
    def persons(self) -> list[str]:
        """Names, from person 1 on."""
        return self.drawn[1]

    def cast(self, movie: int) -> list[str]:
        """Names of those who play in a film."""
        return [self.persons[person - 1] for person in self.credits[movie - 1].cast]

    @cached_property
    def plots(self) -> list[str]:
        return [plots.write(self.wanted.seed, film, self.cast(film.movie)) for film in self.films]

    @cached_property
    def reviews(self) -> taste.Reviews:
        return taste.draw(self.wanted.seed, self.films, self.wanted.users)

    def text(self, review: int) -> str:
        """The text of a review, by its number."""
        movie = int(self.reviews.movie[review - 1])
        stars = int(self.reviews.stars[review - 1])
        return critiques.write(self.wanted.seed, review, self.films[movie - 1], self.cast(movie), stars)

    def counts(self, clips: int) -> dict[str, int]:
        """Of what the data set holds, for who reads its manifest."""
        return {
            "users": self.wanted.users,
            "movies": len(self.films),
            "persons": len(self.persons),
            "photos": sum(credit.photos for credit in self.credits),
            "reviews": len(self.reviews),
            "clips": clips,
        }
