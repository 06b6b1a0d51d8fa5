"""Whether a data set is whole and says the same everywhere."""

import argparse
import json
import struct
import sys
from collections import Counter
from pathlib import Path

import bcrypt

from . import accounts, clips, databases, photos, taste
from .model import MAGIC
from .stages import FOLDER
from .tables import digest, read

HASHES = 3
"""Passwords that are checked; each takes as long as a login."""


class Check:
    """Collects what is wrong."""

    def __init__(self, out: Path):
        self.out = out
        self.wrong: list[str] = []
        self.manifest: dict = {}

    def that(self, holds: bool, what: str) -> bool:
        if not holds:
            self.wrong.append(what)
        return holds

    def docs(self, table: str) -> dict[str, dict]:
        """A table of documents by key."""
        out: dict[str, dict] = {}
        for key, doc in read(self.out / f"{table}.tsv"):
            self.that(key not in out, f"{table}: the key {key} is there twice")
            out[key] = json.loads(doc)
        return out

    def keys(self, table: str) -> set[str]:
        """A table of keys alone."""
        found = [row[0] for row in read(self.out / f"{table}.tsv")]
        self.that(len(set(found)) == len(found), f"{table}: a key is there twice")
        return set(found)


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="check.py", description="Checks a data set of the movie application.")
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder that make.py made")
    out = parser.parse_args(args).out
    wrong = check(out)
    for line in wrong[:20]:
        print(f"check.py: {line}", file=sys.stderr)
    if len(wrong) > 20:
        print(f"check.py: and {len(wrong) - 20} more", file=sys.stderr)
    if wrong:
        return 1
    print(f"{out}: whole")
    return 0


def check(out: Path) -> list[str]:
    """What is wrong; nothing where all is well."""
    this = Check(out)
    try:
        this.manifest = json.loads((out / "manifest.json").read_text())
        if not files(this):
            return this.wrong
        movies = this.docs("movies/movies")
        reviews = this.docs("reviews/reviews")
        films(this, movies)
        pictures(this, movies)
        reviewed(this, movies, reviews)
        users(this, reviews)
        models(this, movies)
        videos(this, movies)
    except OSError as error:
        this.wrong.append(f"{error.filename}: {error.strerror}")
    except (ValueError, KeyError, IndexError, struct.error) as error:
        this.wrong.append(f"{out} cannot be read as a data set: {type(error).__name__}: {error}")
    return this.wrong


def files(this: Check) -> bool:
    """Each file of the manifest with its hash, and no others."""
    named = this.manifest["files"]
    there = {
        str(path.relative_to(this.out))
        for path in this.out.rglob("*")
        if path.is_file() and FOLDER not in path.parts and path != this.out / "manifest.json"
    }
    for name in sorted(there - set(named)):
        this.that(False, f"{name} is not in the manifest")
    for name, sha256 in named.items():
        if this.that(name in there, f"{name} is missing"):
            this.that(digest(this.out / name) == sha256, f"{name} is not what was made: its SHA-256 is another")
    return not this.wrong


def films(this: Check, movies: dict) -> None:
    counts = this.manifest["counts"]
    numbers = {str(at) for at in range(1, counts["movies"] + 1)}
    this.that(set(movies) == numbers, "movies: the numbers of the films are not 1, 2, ...")
    plots, persons = this.docs("movies/plots"), this.docs("movies/persons")
    this.that(set(plots) == numbers, "plots: not one for each film")
    this.that(len(persons) == counts["persons"], "persons: not as many as the manifest says")
    titles = {doc["title"].lower(): {"movie": doc["movie"]} for doc in movies.values()}
    this.that(this.docs("movies/titles") == titles, "titles: not those of the films")
    played = {person for doc in movies.values() for person in doc["cast"]}
    this.that(played == {int(key) for key in persons}, "persons: not those of the casts")
    for key, doc in movies.items():
        this.that(str(doc["movie"]) == key, f"movies: {key} holds film {doc['movie']}")
        this.that(60 <= len(plots[key]["plot"].split()) <= 210, f"plots: that of {key} is too short or too long")
        this.that(doc["clip"] in {clips.name(at) for at in range(1, clips.MOST + 1)}, f"movies: {key} has no clip")


def pictures(this: Check, movies: dict) -> None:
    wanted = {f"t:{key}" for key in movies} | {f"p:{key}:{at}" for key, doc in movies.items() for at in range(doc["photos"])}
    found, sizes = set(), Counter()
    for key, data in read(this.out / "movies/pictures.tsv"):
        octets = bytes.fromhex(data.removeprefix("\\x"))
        this.that(octets[:3] == b"\xff\xd8\xff" and octets[-2:] == b"\xff\xd9", f"pictures: {key} is no JPEG")
        this.that(key not in found, f"pictures: {key} is there twice")
        found.add(key)
        sizes[key.split(":")[1]] += len(octets)
    this.that(found == wanted, "pictures: not those of the films")
    for key, size in sizes.items():
        this.that(size <= photos.ALL + 20_480, f"pictures: those of film {key} have {size} bytes together")


def reviewed(this: Check, movies: dict, reviews: dict) -> None:
    """Reviews against ratings, lists and keys."""
    this.that(list(map(int, reviews)) == list(range(1, len(reviews) + 1)), "reviews: their numbers are not 1, 2, ...")
    this.that(len(reviews) == this.manifest["counts"]["reviews"], "reviews: not as many as the manifest says")
    sums, counts, of_movies = Counter(), Counter(), {}
    users = this.manifest["arguments"]["users"]
    last = 0
    for key, doc in reviews.items():
        movie = str(doc["movie"])
        this.that(str(doc["review"]) == key and movie in movies, f"reviews: {key} is of no film")
        this.that(1 <= doc["user"] <= users, f"reviews: {key} is of user {doc['user']}")
        this.that(1 <= doc["stars"] <= 10, f"reviews: {key} has {doc['stars']} stars")
        this.that(20 <= len(doc["text"].split()) <= 150, f"reviews: the text of {key} is too short or too long")
        this.that(doc["time_ms"] >= last, f"reviews: {key} is older than the one before it")
        last = doc["time_ms"]
        sums[movie] += doc["stars"]
        counts[movie] += 1
        of_movies.setdefault(movie, []).append(int(key))
    this.that(
        this.docs("movies/ratings") == {key: {"count": counts[key], "sum": sums[key]} for key in movies},
        "ratings: not the stars of the reviews",
    )
    pairs = {f"{doc['movie']}:{key}" for key, doc in reviews.items()}
    rated = {f"{doc['movie']}:{doc['user']}": {"review": int(key), "stars": doc["stars"]} for key, doc in reviews.items()}
    this.that(len(rated) == len(reviews), "reviews: a user has two of a film")
    this.that(this.docs("movies/rated") == rated, "rated: not the reviews")
    this.that(this.keys("reviews/listed") == pairs, "reviews/listed: not the reviews")
    this.that(min(counts.values()) >= min(taste.LEAST, users) and len(counts) == len(movies), "reviews: a film has too few")
    this.that(this.docs("reviews/movie_reviews") == buckets(of_movies), "movie_reviews: not the reviews of the films")


def buckets(numbers: dict[str, list[int]]) -> dict[str, dict]:
    out: dict[str, dict] = {}
    for key, mine in numbers.items():
        out[key] = {"n": len(mine)}
        for place in range(0, len(mine), databases.BUCKET):
            out[f"{key}#{place // databases.BUCKET}"] = {"reviews": mine[place : place + databases.BUCKET]}
    return out


def users(this: Check, reviews: dict) -> None:
    count = this.manifest["arguments"]["users"]
    found = this.docs("users/users")
    this.that(set(found) == {str(at) for at in range(1, count + 1)}, "users: their numbers are not 1, 2, ...")
    for key, doc in found.items():
        fits = (
            doc["user"] == int(key)
            and doc["name"] == accounts.name(int(key))
            and doc["balance_cents"] == accounts.BALANCE_CENTS
        )
        this.that(fits, f"users: {key} is not as it was made")
    this.that(len({doc["hash"] for doc in found.values()}) == count, "users: two have the same hash")
    for user in sorted({1, count // 2 + 1, count})[:HASHES]:
        fits = bcrypt.checkpw(accounts.password(user).encode(), found[str(user)]["hash"].encode())
        this.that(fits, f"users: the hash of {user} is not that of its password")
    names = {accounts.name(at): {"user": at} for at in range(1, count + 1)}
    this.that(this.docs("users/names") == names, "names: not those of the users")
    of_users: dict[str, list[int]] = {}
    for key, doc in reviews.items():
        of_users.setdefault(str(doc["user"]), []).append(int(key))
    this.that(this.docs("users/user_reviews") == buckets(of_users), "user_reviews: not the reviews of the users")
    pairs = {f"{doc['user']}:{key}" for key, doc in reviews.items()}
    this.that(this.keys("users/listed") == pairs, "users/listed: not the reviews")
    seen = {f"{doc['user']}#{doc['movie']}" for doc in reviews.values()}
    this.that(this.keys("users/seen") == seen, "users/seen: not the films of the reviews")
    this.that(not this.docs("users/charges") and not this.docs("users/rentals"), "charges, rentals: they are not empty")


def models(this: Check, movies: dict) -> None:
    arguments = this.manifest["arguments"]
    data = (this.out / "files/00000001.factors").read_bytes()
    rank, of_users, of_movies = struct.unpack("<III", data[4:16])
    this.that(data[:4] == MAGIC and (of_users, of_movies) == (arguments["users"], arguments["movies"]), "factors: a wrong head")
    this.that(len(data) == 16 + 4 * rank * (of_users + of_movies), "factors: too short or too long")
    ads = json.loads((this.out / "files/00000001.ads").read_text())
    this.that(ads["version"] == 1 and all(len(ad["weights"]) == rank for ad in ads["ads"]), "ads: weights of another rank")
    catalogue = list(read(this.out / "files/catalogue.tsv"))
    this.that(
        [line[:5] for line in catalogue]
        == [[key, doc["title"], str(doc["year"]), doc["genre"], doc["director"]] for key, doc in movies.items()],
        "catalogue: not the films",
    )


def videos(this: Check, movies: dict) -> None:
    seconds = {doc["clip"]: doc["seconds"] for doc in movies.values()}
    for clip in range(1, this.manifest["counts"]["clips"] + 1):
        name = clips.name(clip)
        folder = this.out / "hls" / name
        variants = [line for line in (folder / "master.m3u8").read_text().splitlines() if line and line[0] != "#"]
        this.that(len(variants) == len(clips.LADDER), f"{name}: {len(variants)} renditions")
        for variant in variants:
            path = folder / variant
            this.that(path.read_text().rstrip().endswith("#EXT-X-ENDLIST"), f"{name}/{variant}: it has no end")
            segments = clips.playlist(path)
            length = sum(each for _, each in segments)
            # A picture more or less at the end.
            this.that(abs(length - seconds.get(name, length)) <= 1, f"{name}/{variant}: {length} s, not {seconds.get(name)}")
            for file, _ in segments:
                this.that((path.parent / file).is_file(), f"{name}/{variant}: {file} is missing")
