#!/usr/bin/python3
"""Unit tests of the chassis, and of ads, where build/python.sh has put them: PYTHONPATH=OUT/python /usr/bin/python3 chassis/python/tests/units.py"""

import json
import pathlib
import struct
import tempfile
import time
import unittest

from movies_idl import Ads as idl
from movies_idl.ttypes import Refused

from chassis.config import Config, ConfigError
from chassis.context import Context
from chassis.frame import LIMIT, BadFrame, encode, parse
from chassis.method import Call, Method
from chassis.newest import Newest
from chassis.spans import FILE, SPAN, Spans
from services.ads.handler import Ads
from services.ads.model import Advertisements, Factors

CONTRACT = pathlib.Path(__file__).resolve().parents[3] / "contract"
CONFIG = """# a comment
service=ads
id = 30
instance=0
listen=127.0.0.1:34567
threads=8
queue=64
spans=
secret=00
data=/x
"""


def golden(name):
    lines = (CONTRACT / "golden" / f"{name}.hex").read_text().splitlines()
    return bytes.fromhex(" ".join(line for line in lines if not line.startswith("#")))


class Quiet:
    def __init__(self):
        self.lines = []

    def info(self, msg, **more):
        pass

    def error(self, msg, **more):
        self.lines.append(more)


class Frames(unittest.TestCase):
    def test_golden(self):
        for file in sorted((CONTRACT / "golden").glob("*.hex")):
            text, data = file.read_text(), golden(file.stem)
            with self.subTest(file.stem):
                if "# accept: yes" in text:
                    frame = parse(data[4:])
                    self.assertEqual(encode(bytes(frame.message), frame.headers, frame.sequence)[-len(frame.message):], bytes(frame.message))
                elif "# level: frame" in text:
                    with self.assertRaises(BadFrame):
                        (size,) = struct.unpack(">I", data[:4])
                        if not 1 <= size <= LIMIT:  # as the server does
                            raise BadFrame
                        Call(parse(data[4:]).message)

    def test_what_is_encoded_is_parsed(self):
        for headers in (None, {}, {"s": "1,2,3"}, {"traceparent": "x" * 200, "d": "250"}):
            frame = parse(encode(golden("plain-ping")[4:], headers, 7)[4:])
            self.assertEqual(frame.headers, headers)
            self.assertEqual(frame.sequence, 0 if headers is None else 7)

    def test_no_bytes_crash_it(self):
        data = bytearray(golden("header-request")[4:])
        for at in range(len(data)):
            for value in (0, 0x7F, 0x80, 0xFF):
                broken = bytearray(data)
                broken[at] = value
                try:
                    call = Call(parse(bytes(broken)).message)
                    call.skip()
                except BadFrame:
                    pass

    def test_structures_in_structures_end_in_a_bad_frame(self):
        call = Call(memoryview(golden("plain-ping")[4:-1] + struct.pack(">bh", 12, 1) * 100_000))
        with self.assertRaises(BadFrame):
            call.arguments(Method(idl, "ping", None, None))


class Contexts(unittest.TestCase):
    def test_traceparent(self):
        known = json.loads((CONTRACT / "vectors.json").read_text())["traceparent"]
        for one in known["good"]:
            context = Context.of({"traceparent": one["text"]}, 0)
            self.assertEqual(context.trace, bytes.fromhex(one["trace"]) if one["sampled"] else None)
            if one["sampled"]:
                self.assertEqual(context.parent, int(one["span"], 16))
        for text in known["bad"]:
            self.assertIsNone(Context.of({"traceparent": text}, 0).trace, text)

    def test_deadline(self):
        for given, ms in (({}, 2000), (None, 2000), ({"d": "250"}, 250), ({"d": ""}, 2000), ({"d": "x"}, 2000), ({"d": "0"}, 0), ({"d": "-3"}, -3),
                          ({"d": "9" * 18}, 86_400_000)):
            self.assertEqual(Context.of(given, 1000).end, 1000 + ms * 1_000_000, given)


class Configs(unittest.TestCase):
    def test_values(self):
        config = Config.parse(CONFIG, "x")
        self.assertEqual((config.id, config.host, config.port, config.threads), (30, "127.0.0.1", 34567, 8))

    def test_errors_name_the_key(self):
        for change, named in (("colour=red\n", "colour"), ("id=1\n", "id"), ("nothing\n", "nothing")):
            with self.assertRaisesRegex(ConfigError, named):
                Config.parse(CONFIG + change, "x")
        for line in CONFIG.splitlines()[1:]:
            key = line.partition("=")[0].strip()
            with self.assertRaisesRegex(ConfigError, f"`{key}` is missing"):
                Config.parse(CONFIG.replace(line + "\n", ""), "x")
        for key, given in (("threads", "0"), ("id", "65536"), ("queue", "-1"), ("listen", "127.0.0.1"), ("listen", "127.0.0.1:0")):
            line = next(line for line in CONFIG.splitlines() if line.startswith(key))
            with self.assertRaisesRegex(ConfigError, f"`{key}` is"):
                Config.parse(CONFIG.replace(line, f"{key}={given}"), "x")


class SpanFiles(unittest.TestCase):
    def test_records(self):
        with tempfile.TemporaryDirectory() as folder:
            spans = Spans(f"{folder}/spans", 30, 2)
            context = Context(0, b"\1" * 16, 77)
            self.assertTrue(spans.server(context, 0, 1, (1, 2, 3, 4, 5, 6), 7, 8, 9))
            self.assertFalse(spans.server(Context(0), 0, 1, (1, 2, 3, 4, 5, 6), 7, 8, 9))
            spans.close()
            data = pathlib.Path(folder, "spans").read_bytes()
        self.assertEqual(len(data), 256)
        self.assertEqual(FILE.unpack(data[:128])[:4], (0x31485053, 1, 30, 2))
        values = SPAN.unpack(data[128:])
        self.assertEqual(values[:9], (0x314E5053, 30, 2, 0, 0, 0, 1, 0, b"\1" * 16))
        self.assertEqual(values[10:], (77, 1, 2, 3, 4, 5, 6, 7, 8, 9))


class Data(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_newer_file_is_used_when_it_appears(self):
        log = Quiet()
        (self.folder / "00000001.x").write_text("1")
        newest = Newest(str(self.folder), ".x", lambda file: int(file.read_text()), log, None)
        self.assertEqual(newest.value, 1)
        (self.folder / "00000003.x").write_text("broken")
        newest._look()
        self.assertEqual((newest.value, len(log.lines)), (1, 1))
        (self.folder / "00000002.x").write_text("2")
        newest._look()
        self.assertEqual(newest.value, 2)

    def test_broken_factors_are_refused(self):
        good = struct.pack("<4sIII3f", b"ALS1", 1, 2, 1, 1.0, 2.0, 3.0)
        file = self.folder / "f"
        file.write_bytes(good)
        self.assertEqual(Factors.read(file).of(2, 1).tolist(), [2.0])
        self.assertEqual(Factors.read(file).of(0, 1).tolist(), [3.0])
        self.assertIsNone(Factors.read(file).of(3, 0))
        for data in (b"", good[:-1], good + b"\0", b"ALS2" + good[4:], struct.pack("<4sIII", b"ALS1", 2**32 - 1, 2**32 - 1, 2**32 - 1),
                     struct.pack("<4sIIIf", b"ALS1", 1, 1, 0, float("nan"))):
            file.write_bytes(data)
            with self.assertRaises(ValueError):
                Factors.read(file)

    def test_broken_advertisements_are_refused(self):
        file = self.folder / "a"
        for text in ("", "[]", "{}", '{"ads": 1}', '{"ads": [{}]}', '{"ads": [{"ad": 1, "text": "", "link": "", "genre": "", "weights": ["x"]}]}',
                     '{"ads": [{"ad": 1, "text": "", "link": "", "genre": "", "weights": [NaN]}]}'):
            file.write_text(text)
            with self.assertRaises(ValueError, msg=text):
                Advertisements.read(file)
        file.write_text('{"version": 1, "ads": []}')
        self.assertEqual(Advertisements.read(file).ads, [])

    def test_picks_by_genre_and_taste(self):
        config = Config.parse(CONFIG.replace("/x", str(self.folder)), "x")
        (self.folder / "catalogue.tsv").write_text("1\tAlien\t1979\tHorror\t\t\n")
        ads = [{"ad": n, "text": "", "link": "", "genre": genre, "weights": weights}
               for n, genre, weights in ((1, "Drama", [1.0, 0.0]), (2, "Horror", [1.0, 0.0]), (3, "Horror", [0.0, 1.0]))]
        (self.folder / "00000001.ads").write_text(json.dumps({"version": 1, "ads": ads}))
        handler = Ads(config, Quiet())
        picked = lambda *arguments: [ad.ad for ad in handler.pick(Context(time.monotonic_ns() + 10**9), *arguments)]
        self.assertEqual(picked(1, 1, 3), [2, 3, 1])
        (self.folder / "00000001.factors").write_bytes(struct.pack("<4sIII2f", b"ALS1", 2, 1, 0, 0.0, 1.0))
        handler._factors._look()
        self.assertEqual(picked(1, 1, 3), [3, 2, 1])
        self.assertEqual(picked(1, 99, 1), [3])
        for wrong in ((1, 1, 101), (1, 1, -1), (-1, 1, 1)):
            with self.assertRaises(Refused):
                picked(*wrong)


if __name__ == "__main__":
    unittest.main()
