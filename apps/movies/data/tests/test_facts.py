import json
import unittest

from . import made

from maker import facts
from maker.errors import Problem


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = facts.read(made.facts())
        cls.films = facts.best(cls.rows, 1000)

    def test_the_source_is_the_one_that_is_known(self):
        self.assertEqual(len(self.rows), 3201)
        self.assertEqual(sum(row["IMDB Rating"] is not None for row in self.rows), 2988)

    def test_another_file_is_refused(self):
        other = made.scratch() / "other.json"
        other.write_text("[]")
        with self.assertRaisesRegex(Problem, "SHA-256"):
            facts.read(other)

    def test_the_best_come_first(self):
        order = [(-film.rating, -film.votes) for film in self.films]
        self.assertEqual(order, sorted(order))
        self.assertEqual(self.films[0].title, "The Shawshank Redemption")
        self.assertEqual(self.films[-1].rating, 6.9)

    def test_titles_that_are_numbers(self):
        titles = {film.title for film in self.films}
        self.assertLessEqual({"300", "9", "2046", "1776", "1408"}, titles)

    def test_a_title_names_one_film(self):
        titles = [film.title.lower() for film in self.films]
        self.assertEqual(len(set(titles)), 1000)
        kong = sorted((film.movie, film.title) for film in self.films if film.title.startswith("King Kong"))
        self.assertEqual([title for _, title in kong], ["King Kong", "King Kong (2005)"])

    def test_all_films_with_a_rating_have_distinct_titles(self):
        films = facts.best(self.rows, 2900)
        self.assertEqual(len({film.title.lower() for film in films}), 2900)

    def test_letters_of_another_character_set(self):
        def check(given, expect):
            return self.assertEqual(facts.title_of(given), expect)

        check("LÈon", "Léon")
        check("Per qualche dollaro in pi˘", "Per qualche dollaro in più")
        check("Obsluhoval jsem anglickÈho kr·le", "Obsluhoval jsem anglického krále")
        check("I Love You Ö Don't Touch Me!", "I Love You … Don't Touch Me!")
        check("The Naked Gun 2Ω: The Smell of Fear", "The Naked Gun 2½: The Smell of Fear")
        check("Alien³", "Alien³")
        check(1776, "1776")

    def test_lower_case_is_that_of_ascii(self):
        # So that a service in any language finds a title.
        for film in self.films:
            ascii_ = "".join(letter.lower() if letter.isascii() else letter for letter in film.title)
            self.assertEqual(film.title.lower(), ascii_)

    def test_years(self):
        def check(given, expect):
            return self.assertEqual(facts.year_of(given), expect)

        check("Jun 12 1998", 1998)
        check("Dec 30 2025", 1925)
        check("Jan 01 2010", 2010)
        check("Jan 01 2011", 1911)
        for given in (None, "", "TBD", "1998", "12-Jun-98", "Foo 01 1998", "Jun 12 19981"):
            check(given, 0)
        self.assertTrue(all(1910 <= film.year <= 2010 for film in self.films))

    def test_what_is_missing(self):
        self.assertEqual(sum(not film.director for film in self.films), 276)
        self.assertEqual(sum(film.minutes is None for film in self.films), 628)
        self.assertEqual(sum(not film.certificate for film in self.films), 244)
        self.assertTrue(all(film.genre for film in self.films))

    def test_more_films_than_there_are(self):
        with self.assertRaisesRegex(Problem, "not 3000"):
            facts.best(self.rows, 3000)

    def test_the_pinned_version_is_that_of_the_lock_file(self):
        lock = json.loads((made.HERE / "package-lock.json").read_text())
        self.assertEqual(lock["packages"]["node_modules/vega-datasets"]["version"], facts.VERSION)
        self.assertNotIn("resolved", str(lock))
