import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from . import made

from maker import checks, clips
from maker.progress import Progress
from maker.stages import Stages


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".stages" not in path.parts
    }


class Made(unittest.TestCase):
    def test_it_is_whole(self):
        self.assertEqual(checks.check(made.small()), [])

    def test_the_same_arguments_make_the_same_bytes(self):
        again = made.make(made.scratch() / "again", *made.SMALL)
        self.assertEqual(files(again), files(made.small()))

    def test_another_seed_makes_others(self):
        other = made.make(made.scratch() / "seed", *made.SMALL, "--seed", "2")
        self.assertEqual(checks.check(other), [])
        one, two = files(other), files(made.small())
        self.assertEqual(set(one), set(two))
        for name in (
            "movies/plots.tsv",
            "movies/pictures.tsv",
            "reviews/reviews.tsv",
            "users/users.tsv",
            "files/00000001.factors",
        ):
            self.assertNotEqual(one[name], two[name], name)
        # Facts from the source are the same.
        self.assertEqual(one["movies/titles.tsv"], two["movies/titles.tsv"])

    def test_the_fewest_that_can_be_asked_for(self):
        out = made.make(made.scratch() / "least", "--users", "10", "--movies", "10", "--clips", "1", "--no-video", "--quiet")
        self.assertEqual(checks.check(out), [])

    def test_a_finished_stage_is_not_run_again(self):
        out = made.copy("skipped")
        before = {path: path.stat().st_mtime_ns for path in out.rglob("*.tsv")}
        ended = made.run(out, *made.SMALL[:-1])
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("pictures: is there", ended.stderr)
        self.assertEqual({path: path.stat().st_mtime_ns for path in out.rglob("*.tsv")}, before)

    def test_other_arguments_make_what_they_change(self):
        out = made.copy("more")
        ended = made.run(out, "--users", "300", *made.SMALL[2:-1])
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("pictures: is there", ended.stderr)
        self.assertNotIn("users: is there", ended.stderr)
        self.assertEqual(checks.check(out), [])

    def test_a_file_that_is_lost_is_made_again(self):
        out = made.copy("lost")
        (out / "reviews/listed.tsv").unlink()
        made.make(out, *made.SMALL)
        self.assertEqual(files(out), files(made.small()))

    def test_what_a_stage_makes_no_more_is_removed(self):
        out = made.scratch() / "stage"
        stage = Stages(out, Progress(quiet=True))

        def make(*names: str):
            for name in names:
                (out / name).write_text(name)
            return [out / name for name in names]

        stage.run("one", 1, lambda: make("a", "b"))
        stage.run("one", 1, lambda: self.fail("it is there"))
        stage.run("one", 2, lambda: make("b", "c"))
        self.assertEqual(sorted(path.name for path in out.iterdir() if path.is_file()), ["b", "c"])
        stage.lock.close()

    def test_a_killed_run_is_gone_on_with(self):
        for at, delay in enumerate((0.3, 0.9, 1.5, 2.5)):
            out = made.scratch() / f"killed-{at}"
            process = subprocess.Popen(made.command(out, *made.SMALL), stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
            # A file under its final name is complete; partial files have another name.
            for name, data in (files(out) if out.exists() else {}).items():
                if not name.endswith(".partial"):
                    self.assertEqual(data, files(made.small())[name], name)
            made.make(out, *made.SMALL)
            self.assertEqual(files(out), files(made.small()))

    def test_children_end_with_a_killed_run(self):
        out = made.scratch() / "orphans"
        process = subprocess.Popen(made.command(out, *made.SMALL), stderr=subprocess.DEVNULL)

        def children():
            return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()

        end = time.monotonic() + 60
        while not children() and time.monotonic() < end:
            time.sleep(0.01)
        found = children()
        process.kill()
        process.wait()
        self.assertTrue(found)
        while time.monotonic() < end and any(runs(child) for child in found):
            time.sleep(0.01)
        self.assertFalse([child for child in found if runs(child)])

    def test_one_run_at_a_time(self):
        out = made.copy("two")
        with (out / ".stages/lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ended = made.run(out, *made.SMALL)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("another make.py is at work", ended.stderr)

    def test_what_is_not_a_terminal_gets_lines(self):
        ended = made.run(made.scratch() / "lines", *made.SMALL[:-1])
        self.assertNotIn("\r", ended.stderr)
        self.assertRegex(ended.stderr, r"(?m)^pictures: [\d.]+ MB in [\d.]+ s$")
        self.assertEqual(ended.stdout, "")

    def test_quiet(self):
        ended = made.run(made.copy("quiet"), *made.SMALL)
        self.assertEqual((ended.stdout, ended.stderr), ("", ""))


def runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Refused(unittest.TestCase):
    def refused(self, expect: str, *args: str, status: int = 2):
        ended = made.run(made.scratch() / "refused", *args)
        self.assertEqual(ended.returncode, status, ended.stderr)
        self.assertIn(expect, ended.stderr)
        self.assertNotIn("Traceback", ended.stderr)

    def test_numbers(self):
        for name in ("--users", "--movies", "--clips", "--seed", "--hash-cost"):
            for value in ("-1", "x", "1.5", "", "99999999999999999999", "１２"):
                self.refused(f"'{value}' is no number from", name + "=" + value)
        self.refused("from 10 to", "--users", "9")
        self.refused("from 1 to 8", "--clips", "9")

    def test_an_unknown_argument(self):
        self.refused("unrecognized arguments: --film", "--film")

    def test_a_folder_with_other_files(self):
        (made.scratch() / "refused").mkdir(exist_ok=True)
        (made.scratch() / "refused/letter").write_text("dear")
        self.refused("holds other files", *made.SMALL, status=1)
        self.assertEqual((made.scratch() / "refused/letter").read_text(), "dear")
        shutil.rmtree(made.scratch() / "refused")

    def test_a_source_that_is_not_there(self):
        self.refused("No such file", "--source", "/nowhere/movies.json", *made.SMALL, status=1)

    def test_a_program_that_is_missing(self):
        empty = made.scratch() / "no-programs"
        empty.mkdir()
        for args, expect in (
            (("--source", str(made.facts())), "apt-get install ffmpeg"),
            (("--no-video",), "apt-get install npm"),
        ):
            out = made.scratch() / "missing"
            command = [sys.executable, str(made.HERE / "make.py"), str(out), *args, "--users", "10", "--movies", "10"]
            environment = {name: value for name, value in os.environ.items() if name != "TAILLIGHT_NODE_MODULES"}
            ended = subprocess.run(command, env={**environment, "PATH": str(empty)}, capture_output=True, text=True)
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertIn(expect, ended.stderr)

    def test_a_full_disk(self):
        # 8 clips and a million users take more than a small file system has.
        from unittest import mock

        from maker import main
        from maker.errors import Problem
        from maker.plan import Wanted

        with mock.patch("shutil.disk_usage", return_value=mock.Mock(free=10_000_000)):
            with self.assertRaisesRegex(Problem, "10 MB free"):
                main.room(made.scratch(), Wanted(10_000, 1000, 1, 4, 4), True)


class Broken(unittest.TestCase):
    """check.py says what is wrong."""

    def broken(self, name: str, change, expect: str, sealed: bool = True):
        out = made.copy("broken-" + name)
        change(out)
        if sealed:
            # As if it had been made so: only the tables can tell.
            manifest = json.loads((out / "manifest.json").read_text())
            manifest["files"] = {file: checks.digest(out / file) for file in manifest["files"]}
            (out / "manifest.json").write_text(json.dumps(manifest))
        command = [sys.executable, str(made.HERE / "check.py"), str(out)]
        ended = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 1, name)
        self.assertRegex(ended.stderr, expect)
        self.assertNotIn("Traceback", ended.stderr)

    def edit(self, file: str, pattern: str, into: str):
        def change(out: Path):
            text = (out / file).read_text()
            found, count = re.subn(pattern, into, text, count=1)
            self.assertEqual(count, 1)
            (out / file).write_text(found)

        return change

    def test_files(self):
        flip = self.edit("movies/plots.tsv", "In ", "On ")
        self.broken("byte", flip, "movies/plots.tsv is not what was made", sealed=False)
        self.broken("missing", lambda out: (out / "users/names.tsv").unlink(), "users/names.tsv is missing", sealed=False)
        self.broken(
            "more", lambda out: (out / "movies/more.tsv").write_text(""), "movies/more.tsv is not in the manifest", sealed=False
        )
        self.broken("none", lambda out: (out / "manifest.json").unlink(), "No such file", sealed=False)
        self.broken("garbage", lambda out: (out / "manifest.json").write_text("{"), "cannot be read", sealed=False)

    def test_tables(self):
        def check(name, file, pattern, into, expect):
            return self.broken(name, self.edit(file, pattern, into), expect)

        check("sum", "movies/ratings.tsv", '"sum":', '"sum":1', "ratings: not the stars")
        check("stars", "reviews/reviews.tsv", r'"stars":\d+', '"stars":11', "has 11 stars")
        check("bucket", "reviews/movie_reviews.tsv", r"\[\d+", "[0", "movie_reviews: not the reviews")
        check("twice", "movies/persons.tsv", "(?m)^2\t", "1\t", "the key 1 is there twice")
        check("title", "movies/titles.tsv", "(?m)^the", "thy", "titles: not those")
        check("balance", "users/users.tsv", ":100000000", ":-1", "users: 1 is not as it was made")
        check("hash", "users/users.tsv", r"(?m)(04\$.*).\",", r'\1.",', "the hash of 1 is not")
        check("picture", "movies/pictures.tsv", "ffd8ff", "000000", "t:1 is no JPEG")
        check("json", "movies/movies.tsv", "{", "", "cannot be read")
        check("listed", "users/listed.tsv", "(?m)^.*\n", "", "users/listed: not the reviews")
        check("catalogue", "files/catalogue.tsv", "1994", "1995", "catalogue: not the films")


class Clips(unittest.TestCase):
    def test_a_ladder(self):
        if shutil.which("ffmpeg") is None:
            self.skipTest("ffmpeg is missing")
        lengths = clips.LENGTHS_S
        clips.LENGTHS_S = (13,) * clips.MOST
        try:
            for clip in range(1, 5):
                folder = made.scratch() / f"hls/clip-{clip}"
                clips.make(clip, 1, folder)
                again = made.scratch() / f"hls-again/clip-{clip}"
                clips.make(clip, 1, again)
                self.assertEqual(files(folder), files(again))
                self.watchable(folder)
        finally:
            clips.LENGTHS_S = lengths

    def watchable(self, folder: Path):
        master = (folder / "master.m3u8").read_text()
        self.assertEqual(master.count("#EXT-X-STREAM-INF"), len(clips.LADDER))
        for rung in clips.LADDER:
            path = folder / rung.name / "index.m3u8"
            segments = clips.playlist(path)
            self.assertEqual([round(length) for _, length in segments], [6, 6, 1])
            self.assertNotIn("/", path.read_text())
            for at, (file, _) in enumerate(segments):
                frames = probe(path.parent / file)
                # Each segment begins with a picture that stands alone, and has no other.
                self.assertEqual([frame["key_frame"] for frame in frames], [1] + [0] * (len(frames) - 1))
                self.assertEqual((frames[0]["width"], frames[0]["height"]), (rung.width, rung.height))
            stream = json.loads(
                subprocess.run(
                    ["ffprobe", "-v", "error", "-show_streams", "-of", "json", str(path)], capture_output=True, check=True
                ).stdout
            )["streams"]
            video = next(one for one in stream if one["codec_type"] == "video")
            self.assertEqual(video["profile"], "Constrained Baseline")
            self.assertEqual(f"avc1.42C0{video['level']:02X},mp4a.40.2", rung.codecs)
            self.assertIn("aac", {one["codec_name"] for one in stream})


def probe(file: Path) -> list[dict]:
    command = [
        "ffprobe",
        "-v",
        "error",
        "-select_streams",
        "v",
        "-show_entries",
        "frame=key_frame,width,height",
        "-of",
        "json",
        str(file),
    ]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["frames"]
