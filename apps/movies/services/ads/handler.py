"""Picks advertisements: those of the film's genre first, among them what suits the user."""

import pathlib

import numpy as np
from movies_idl.ttypes import Code, Refused

from chassis.newest import Newest
from services.ads.model import Advertisements, Factors, read_genres

# Largest list that a caller may request. Source: the contract of the application.
MOST = 100
# Weight of the film's genre. Factors of users and weights of advertisements are about 1 long, so their product is below
# it and only orders advertisements within a genre.
GENRE = 2.0


class Ads:
    def __init__(self, config, log):
        if not config.data:
            raise ValueError("`data` is empty; it takes the folder of the model")
        folder = pathlib.Path(config.data)
        catalogue = folder / "catalogue.tsv"
        self._genres = read_genres(catalogue) if catalogue.exists() else {}
        self._ads = Newest(config.data, ".ads", Advertisements.read, log, Advertisements.none())
        self._factors = Newest(config.data, ".factors", Factors.read, log, None)

    def pick(self, context, user: int, movie: int, n: int) -> list:
        if not 0 <= n <= MOST:
            raise Refused(Code.BAD_REQUEST, f"n is {n}, and takes 0 to {MOST}")
        if user < 0 or movie < 0:
            raise Refused(Code.BAD_REQUEST, f"user {user}, movie {movie}: numbers from 0 on")
        # A reload may replace either file during this request.
        model, factors = self._ads.value, self._factors.value
        scores = np.zeros(len(model.ads), dtype=np.float64)
        if movie in self._genres:
            scores += GENRE * (model.genres == self._genres[movie])
        taste = factors.of(user, movie) if factors else None
        # A model of another rank belongs to other factors, whose file comes later.
        if taste is not None and len(taste) == model.weights.shape[1]:
            scores += model.weights @ taste
        best = np.lexsort((model.numbers, -scores))[:n]
        return [model.ads[place] for place in best]
