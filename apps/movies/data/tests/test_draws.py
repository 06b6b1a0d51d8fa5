import collections
import unittest

import numpy as np

from . import made

from maker import accounts, clips, credits, critiques, draws, facts, model, plots, tables, taste


class Drawn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.films = facts.best(facts.read(made.facts()), 1000)
        cls.reviews = taste.draw(1, cls.films, 10_000)

    def test_draws_depend_on_seed_and_purpose(self):
        one = draws.words(1, "a", 2).random()
        self.assertEqual(one, draws.words(1, "a", 2).random())
        self.assertNotEqual(one, draws.words(2, "a", 2).random())
        self.assertNotEqual(one, draws.words(1, "a", 3).random())
        # "a", 12 is not "a1", 2.
        self.assertNotEqual(draws.number(1, "a", 12), draws.number(1, "a1", 2))

    def test_the_mean_of_the_stars_is_the_rating(self):
        for film in self.films:
            stars = self.reviews.stars[self.reviews.movie == film.movie]
            self.assertLessEqual(abs(stars.mean() - film.rating), 0.1 + 1e-9, film.title)

    def test_reviews_are_many_for_few(self):
        counts = np.bincount(self.reviews.movie)[1:]
        self.assertTrue(18 <= counts.mean() <= 24, counts.mean())
        self.assertEqual(counts.min(), taste.LEAST)
        self.assertLessEqual(counts.max(), taste.MOST)
        self.assertGreater(np.percentile(counts, 99), 5 * np.median(counts))
        # As the votes go.
        votes = np.array([film.votes for film in self.films])
        self.assertGreater(np.corrcoef(votes, counts)[0, 1], 0.95)

    def test_a_user_reviews_a_film_once(self):
        pairs = set(zip(self.reviews.movie.tolist(), self.reviews.user.tolist()))
        self.assertEqual(len(pairs), len(self.reviews))
        self.assertTrue((np.diff(self.reviews.time_ms) >= 0).all())

    def test_exact_sums(self):
        random = np.random.default_rng(1)
        for _ in range(300):
            count = int(random.integers(1, 30))
            total = int(random.integers(count, 10 * count + 1))
            stars = taste.exact(random.normal(6, 4, size=count), total)
            self.assertEqual(stars.sum(), total)
            self.assertTrue(((stars >= 1) & (stars <= 10)).all())

    def test_least_squares_find_the_taste(self):
        # The model predicts withheld reviews better than each film's mean does.
        held = np.random.default_rng(1).random(len(self.reviews)) < 0.1
        kept = taste.Reviews(*(column[~held] for column in vars(self.reviews).values()))
        of_users, of_movies = model.factors(1, kept, 10_000, 1000)
        movie, user, stars = (column[held] for column in (self.reviews.movie, self.reviews.user, self.reviews.stars))
        sums = np.bincount(kept.movie, weights=kept.stars, minlength=1001)
        means = sums / np.maximum(np.bincount(kept.movie, minlength=1001), 1)
        known = np.bincount(kept.user, minlength=10_001)[user] >= 5
        found = (of_users[user - 1] * of_movies[movie - 1]).sum(axis=1)

        def rmse(guess):
            return float(np.sqrt(((guess - stars)[known] ** 2).mean()))

        self.assertLess(rmse(found), rmse(means[movie]))

    def test_users_without_reviews_have_factors(self):
        of_users, _ = model.factors(1, self.reviews, 10_000, 1000)
        self.assertTrue((np.abs(of_users).sum(axis=1) > 0).all())
        self.assertTrue(np.isfinite(of_users).all())

    def test_casts(self):
        drawn, names = credits.draw(1, self.films)
        films = collections.Counter(person for one in drawn for person in one.cast)
        self.assertEqual(set(films), set(range(1, len(names) + 1)))
        self.assertEqual(len(set(names)), len(names))
        most = films.most_common()
        self.assertGreater(most[0][1], 8 * most[len(most) // 2][1])
        for one, film in zip(drawn, self.films):
            self.assertTrue(4 <= len(set(one.cast)) == len(one.cast) <= 10)
            self.assertTrue(1 <= one.photos <= 8)
            self.assertIn(one.cents, range(199, 600, 100))
            self.assertEqual(one.minutes, film.minutes or one.minutes)
            self.assertTrue(40 <= one.minutes <= 300)

    def test_plots(self):
        drawn, names = credits.draw(1, self.films)
        texts = []
        for film, one in zip(self.films, drawn):
            text = plots.write(1, film, [names[person - 1] for person in one.cast])
            self.assertTrue(60 <= len(text.split()) <= 200, (film.title, len(text.split())))
            self.assertNotRegex(text, r"[{}|\n\t]")
            texts.append(text)
        self.assertEqual(len(set(texts)), len(texts))

    def test_texts_of_reviews(self):
        lengths = []
        for film in self.films[::10]:
            for stars in range(1, 11):
                text = critiques.write(1, stars, film, ["A B", "C D", "E F", "G H"], stars)
                lengths.append(len(text.split()))
                self.assertTrue(20 <= lengths[-1] <= 150, text)
                self.assertNotRegex(text, r"[{}|\n\t]")
        self.assertGreater(max(lengths), 100)
        self.assertLess(sorted(lengths)[len(lengths) // 2], 60)

    def test_every_genre_has_its_words_and_colours(self):
        from maker import scenes

        genres = {film.genre for film in facts.best(facts.read(made.facts()), 2900)}
        for table in (plots.ROLES, plots.WANTS, plots.GENRE, scenes.PAINTERS, scenes.PALETTES, model.GOODS):
            self.assertLessEqual(genres, set(table))

    def test_hashes(self):
        one, two = accounts.hashes(1, 2, 4)
        self.assertNotEqual(one, two)
        self.assertEqual(one, next(iter(accounts.hashes(1, 1, 4))))
        # Users with the same password share its hash.
        hashes = list(accounts.hashes(1, 65, 4))
        self.assertEqual((hashes[64], len(set(hashes))), (one, 64))
        for user, hashed in ((1, one), (2, two)):
            self.assertTrue(accounts.bcrypt.checkpw(f"password-{user}".encode(), hashed.encode()))
            self.assertRegex(hashed, r"^\$2a\$04\$[./A-Za-z0-9]{53}$")

    def test_rows_come_back(self):
        given = ["a\tb", "c\\n\n", "\\", "", 'x\r{"y":"\\"z"}', "\\x00"]
        self.assertEqual(tables.fields(tables.row(*given)), given)
        self.assertEqual(tables.row(*given).count("\n"), 1)

    def test_clips_fit_their_levels(self):
        # H.264, table A-1: macroblocks a second and in a picture.
        limits = {"3.0": (40_500, 1620), "3.1": (108_000, 3600)}
        for rung in clips.LADDER:
            blocks = -(-rung.width // 16) * -(-rung.height // 16)
            self.assertLessEqual((blocks * clips.FPS, blocks), limits[rung.level])
            self.assertLessEqual(blocks, limits[rung.level][1])
