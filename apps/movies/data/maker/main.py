"""The program: arguments, what is needed, and the stages in their order."""

import argparse
import platform
import shutil
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import bcrypt
import numpy as np
import PIL
from PIL import features

from . import clips, databases, facts, files, manifest, posters, source, workers
from .errors import Problem
from .plan import Plan, Wanted
from .progress import Progress
from .stages import Stages, write_text
from .tables import digest

HERE = Path(__file__).resolve().parent
SQL = HERE.parent / "sql"
DATABASES = ("movies", "reviews", "users")
LIMITS = {
    # Minimum: enough for the bounds of reviews. Maximum: the memory of one run (1 KB a user).
    "users": (10, 1_000_000),
    "movies": (10, 2_900),
    "clips": (1, clips.MOST),
    "seed": (0, 2**63 - 1),
    # Source: bcrypt's own least; 15 takes 2 s a user.
    "cost": (4, 15),
}
BYTES = {"movies": 260_000, "users": 2_500, "second": 340_000}
"""On the disk for each film, user and second of a clip; measured, and a third more."""


def main(args: list[str]) -> int:
    """Returns what the process ends with."""
    options = parse(args)
    # As Ctrl-C: children are ended, and the lock is let go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        make(options)
    except Problem as problem:
        print(f"make.py: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("make.py: ended; the same command goes on from here", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"make.py: {error.filename or options.out}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def parse(args: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make.py", description="Makes the data set of the movie application.")
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder that it is made in")
    parser.add_argument("--users", type=number("users"), default=10_000, metavar="N", help="users (10000)")
    parser.add_argument("--movies", type=number("movies"), default=1_000, metavar="N", help="films, the best ones (1000)")
    parser.add_argument("--seed", type=number("seed"), default=1, metavar="N", help="what all that is drawn follows from (1)")
    parser.add_argument("--clips", type=number("clips"), default=4, metavar="N", help="videos, which the films share (4)")
    parser.add_argument("--hash-cost", type=number("cost"), default=10, metavar="N", help="cost of the hash of a password (10)")
    parser.add_argument("--no-video", action="store_true", help="the films name their clips, and no clip is made")
    parser.add_argument("--source", metavar="FILE", help="vega-datasets' data/movies.json, if npm is not to fetch it")
    parser.add_argument("--quiet", action="store_true", help="say nothing but errors")
    return parser.parse_args(args)


def number(name: str) -> Callable[[str], int]:
    least, most = LIMITS[name]

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} to {most}")
        return int(text)

    return read


def make(options: argparse.Namespace) -> None:
    progress = Progress(options.quiet)
    wanted = Wanted(options.users, options.movies, options.seed, options.clips, options.hash_cost)
    for name in posters.FONTS:
        posters.font(name, 20)
    ffmpeg = None if options.no_video else clips.version()
    stages = Stages(options.out, progress)
    room(options.out, wanted, not options.no_video)
    plan = Plan(wanted, source.find(options.source, stages.folder / "npm"))
    key = keys(wanted, ffmpeg)
    out = stages.out
    stages.run("schemas", [key["code"], digests(SQL), wanted.users], lambda: schemas(out, wanted.users))
    stages.run("movies", [key["all"], wanted.clips], lambda: databases.movies(plan, out / "movies", progress))
    stages.run("pictures", key["films"], lambda: databases.pictures(plan, out / "movies", progress))
    stages.run("reviews", key["all"], lambda: databases.reviews(plan, out / "reviews", progress))
    stages.run("users", [key["users"], wanted.cost], lambda: databases.users(plan, out / "users", progress))
    stages.run("lists", key["all"], lambda: databases.lists(plan, out / "users", progress))
    stages.run("files", key["all"], lambda: files.make(plan, out / "files"))
    made = range(1, wanted.clips + 1) if ffmpeg else ()
    for clip in set(range(1, clips.MOST + 1)) - set(made):
        stages.drop(clips.name(clip), out / "hls" / clips.name(clip))
    videos(stages, made, wanted.seed, key["clips"])
    write_text(out / "manifest.json", manifest.text(wanted, versions(ffmpeg), plan.counts(len(made)), stages.files))
    progress.say(
        f"{out}: {sum((out / file).stat().st_size for file in stages.files) / 1e6:.0f} MB in {len(stages.files)} files"
    )


def videos(stages: Stages, made, seed: int, key: object) -> None:
    """Makes clips on all processors, each a stage of its own."""
    missing = []
    for clip in made:
        folder = stages.out / "hls" / clips.name(clip)
        if not stages.is_there(clips.name(clip), [key, clip]):
            missing.append((clips.seconds(clip), clip, folder))
    if missing:
        stages.progress.begin("clips")
        # The longest first, so that the processors end at about the same time.
        with ThreadPoolExecutor(workers.count()) as pool:
            begun = [pool.submit(clips.make, clip, seed, folder) for _, clip, folder in sorted(missing, reverse=True)]
            try:
                for done, future in enumerate(as_completed(begun), 1):
                    future.result()
                    stages.progress.at(done, len(begun))
            except BaseException:
                pool.shutdown(cancel_futures=True, wait=False)
                clips.stop()
                raise
        stages.progress.end(f"{len(missing)} made")
    for clip in made:
        folder = stages.out / "hls" / clips.name(clip)
        stages.run(clips.name(clip), [key, clip], lambda: sorted(path for path in folder.rglob("*") if path.is_file()))


def schemas(out: Path, users: int) -> list[Path]:
    """How each database is made, loaded and compared."""
    paths = []
    for name in DATABASES:
        for path in sorted((SQL / name).iterdir()):
            target = out / name / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            write_text(target, path.read_text().replace(":first_user", str(users + 1)))
            paths.append(target)
    return paths


def keys(wanted: Wanted, ffmpeg: str | None) -> dict:
    """What the stages follow from: arguments, sources and versions."""
    code = digests(HERE)
    drawing = {name: code[name] for name in ("draws.py", "clips.py")}
    return {
        "code": code,
        "all": [code, versions(None), facts.SHA256, wanted.users, wanted.movies, wanted.seed],
        "films": [code, versions(None), facts.SHA256, wanted.movies, wanted.seed],
        "users": [code, versions(None), wanted.users, wanted.seed],
        "clips": [drawing, ffmpeg, wanted.seed],
    }


def digests(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.suffix in (".py", ".sql"))
    return {str(path.relative_to(folder)): digest(path) for path in sorted(paths)}


def versions(ffmpeg: str | None) -> dict[str, str]:
    """Of what the bytes depend on."""
    found = {
        "vega-datasets": facts.VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pillow": PIL.__version__,
        "libjpeg": features.version("libjpeg_turbo") or features.version("jpg") or "",
        "freetype": features.version("freetype2") or "",
        "bcrypt": bcrypt.__version__,
    }
    return {**found, "ffmpeg": ffmpeg} if ffmpeg else found


def room(out: Path, wanted: Wanted, video: bool) -> None:
    """Sees that the disk has room for what is not there yet."""
    length = sum(clips.seconds(clip) for clip in range(1, wanted.clips + 1)) if video else 0
    needed = BYTES["movies"] * wanted.movies + BYTES["users"] * wanted.users + BYTES["second"] * length
    there = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    free = shutil.disk_usage(out).free
    if free + there < needed:
        raise Problem(
            f"{out} has {free / 1e6:.0f} MB free and takes up to {needed / 1e6:.0f} MB; make room, or ask for less by --users, "
            f"--movies and --clips, of which a second of a clip takes {BYTES['second'] / 1e3:.0f} kB"
        )
