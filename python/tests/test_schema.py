"""Earlier schemas are read as the Rust program reads them; damage has a clear error."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
from typing import Any

import taillight
from common import FIXTURES, LOAD, STUDIES, Scratch
from taillight.hlog import parse_hlog


class Earlier(Scratch):
    def test_schemas_lose_nothing(self) -> None:
        seen = set()
        for path in sorted(FIXTURES.glob("*.json")):
            result = taillight.read(path)
            seen.add((type(result).__name__, result.schema))
            then = json.loads(path.read_text())
            self.assertEqual(result.raw, then)
            if isinstance(result, taillight.Experiment):
                for trial, raw in zip(result.trials, then["trials"], strict=True):
                    self.assertEqual(trial.all.response_time.p99_us, raw["all"]["response_time"]["p99_us"])
                    self.assertEqual(trial.loop_kind, raw.get("loop_kind", "open"))
                    # Earlier versions recorded no bounds.
                    self.assertIsNone(trial.figure("p99").low)
        expect = {("Experiment", 1), ("Experiment", 2), ("Study", 1), ("Comparison", 1)}
        self.assertEqual(seen, expect)


class Damaged(Scratch):
    def refused(self, text: bytes, says: str, name: str = "result.json") -> None:
        path = self.folder / name
        path.write_bytes(text)
        with self.assertRaises(taillight.ResultError) as caught:
            taillight.read(path)
        self.assertIn(says, str(caught.exception))
        self.assertIn(str(path), str(caught.exception))

    def test_records_name_the_field(self) -> None:
        whole = json.loads((FIXTURES / "v1-load.json").read_text())

        def changed(path: str, value: Any) -> bytes:
            copy = json.loads(json.dumps(whole))
            *folders, last = path.split(".")
            place = copy
            for name in folders:
                place = place[int(name)] if name.isdigit() else place[name]
            if value is None:
                del place[last]
            else:
                place[last] = value
            return json.dumps(copy).encode()

        self.refused(b"", "not a result")
        self.refused(b"[1]", "no schema number")
        self.refused(b'{"schema": 3}', "neither an experiment nor a study")
        self.refused(b'{"schema": NaN}', "NaN is not JSON")
        self.refused(b"[" * 100_000, "not a result")
        self.refused(b"\xff\xfe{}", "not a result")
        self.refused(b"latency 3 ms\n", "not a result", "notes.txt")
        self.refused(changed("schema", 99), "use a newer taillight")
        self.refused(changed("schema", "3"), "no schema number")
        self.refused(changed("trials.0.id", None), "experiment.trials[0]: the field id is missing")
        self.refused(changed("trials.0.offered_rps", "fast"), "offered_rps: expected a number, found 'fast'")
        self.refused(changed("trials.0.arrivals.errors", -1), "errors: expected a count, found -1")
        self.refused(changed("trials.0.verdict.kind", "fine"), "verdict.kind: 'fine' is not one of valid")
        self.refused(changed("complete", 1), "complete: expected true or false, found 1")
        with self.assertRaisesRegex(taillight.ResultError, "neither result.json nor study.json"):
            taillight.read(LOAD.parent)
        with self.assertRaises(FileNotFoundError):
            taillight.read(self.folder / "absent")
        with self.assertRaisesRegex(taillight.ResultError, "of the kind experiment, not study"):
            taillight.read_study(LOAD)

    def test_packed_files(self) -> None:
        whole = STUDIES[0].read_bytes()
        name = "result.taillight.tgz"
        for end in (2, 20, len(whole) // 2, len(whole) - 1):
            self.refused(whole[:end], "not a result", name)
        self.refused(gzip.compress(b"text"), "not a result", name)
        self.refused(packed([("a", b"1")]), "does not begin with a list", name)
        size = {"path": "study.json", "bytes": 2, "xxh3": ""}
        lists = {
            "use a newer taillight": {"format": 2, "files": []},
            "study.json is missing": {"format": 1, "files": [size]},
            "leads elsewhere": {"format": 1, "files": [{**size, "path": "../study.json"}]},
            "cannot be read": {"format": 1},
        }
        for says, of in lists.items():
            self.refused(packed([("pack.json", json.dumps(of).encode())]), says, name)
        foreign = [("pack.json", json.dumps({"format": 1, "files": []}).encode()), ("x", b"1")]
        self.refused(packed(foreign), "not in its list", name)

    def test_any_byte_changed_is_an_error_or_a_result(self) -> None:
        draw = random.Random(7)
        packed_text, record = LOAD.read_bytes(), (FIXTURES / "v1-load.json").read_bytes()
        log = taillight.read_experiment(LOAD)
        path = self.folder / "any"
        for text, times in ((packed_text, 150), (record, 150)):
            for _ in range(times):
                damaged = bytearray(text)
                for _ in range(draw.randint(1, 3)):
                    damaged[draw.randrange(len(damaged))] = draw.randrange(256)
                path.write_bytes(damaged)
                try:
                    taillight.read(path)
                except taillight.ResultError:
                    pass
        lines = hlog_of(log.trials[0].hlog or "")
        for _ in range(150):
            damaged = bytearray(lines)
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            try:
                parse_hlog(bytes(damaged), "any.hlog")
            except taillight.DamagedError as error:
                self.assertIn("any.hlog: histogram log, line ", str(error))

    def test_logs_name_the_line(self) -> None:
        lines = hlog_of("trials/0001.hlog")

        def refused(text: bytes, says: str) -> None:
            with self.assertRaises(taillight.DamagedError) as caught:
                parse_hlog(text, "x.hlog")
            self.assertIn(says, str(caught.exception))

        refused(lines[:-1], "it has no end")
        refused(lines[: lines.rfind(b"\n", 0, -1) + 1], "the log ends after")
        refused(b"", "there is no interval")
        refused(b"hello\n", "line 1: it is neither a comment nor an interval")
        refused(b"Tag=a,0.0,1.0,2.0,AAAA\n", "not in the V2 format")
        refused(b"0.0,1.0,2.0,!!\n", "not base64")

    def test_tables(self) -> None:
        path = self.folder / "trials.csv"
        for text, says in (
            ("a,b\r\n1,2\r\n", "has no column trial"),
            ("trial,block\r\n1\r\n", "line 2 has 1 cells, the header 2"),
            ("trial,block\r\n1,x\r\n", "the column block holds 'x'"),
        ):
            path.write_text(text, newline="")
            with self.assertRaises(taillight.DamagedError) as caught:
                taillight.read_table(path)
            self.assertIn(says, str(caught.exception))


def hlog_of(name: str) -> bytes:
    with tarfile.open(LOAD) as archive:
        file = archive.extractfile(name)
        assert file is not None
        return file.read()


def packed(files: list[tuple[str, bytes]]) -> bytes:
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w:gz") as archive:
        for name, text in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return to.getvalue()
