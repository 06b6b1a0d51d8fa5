#!/usr/bin/python3
"""Makes golden/*.hex: frames as bytes, put together by hand. `--check` says whether they are as they would be written."""

import pathlib
import struct
import sys

FOLDER = pathlib.Path(__file__).parent / "golden"
STOP, BOOL, I32, I64, STRING, STRUCT, MAP, LIST = 0, 2, 8, 10, 11, 12, 13, 15
CALL, REPLY, EXCEPTION = 1, 2, 3
TRACE = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def text(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def field(kind: int, number: int, value: bytes) -> bytes:
    return struct.pack(">bh", kind, number) + value


def message(name: bytes, kind: int, sequence: int, body: bytes) -> bytes:
    return struct.pack(">I", 0x80010000 | kind) + text(name) + struct.pack(">i", sequence) + body


def i64(number: int) -> bytes:
    return struct.pack(">q", number)


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def pairs(**values: bytes) -> bytes:
    out = varint(1) + varint(len(values))
    for key, value in values.items():
        out += varint(len(key)) + key.encode() + varint(len(value)) + value
    return out


def frame(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


def header(sequence: int, block: bytes, payload: bytes, flags=0, protocol=0, transforms=b"\x00", words=None) -> bytes:
    block = varint(protocol) + transforms + block
    block += b"\x00" * (-len(block) % 4)
    size = len(block) // 4 if words is None else words
    return frame(struct.pack(">HHIH", 0x0FFF, flags, sequence & 0xFFFFFFFF, size) + block + payload)


PING = message(b"ping", CALL, 7, b"\x00")
READ = message(b"read", CALL, 9, field(I64, 1, i64(42)) + b"\x00")
ANSWER = message(b"read", REPLY, 9, field(STRING, 0, text("A café.".encode())) + b"\x00")
REFUSED = message(b"read", REPLY, 9, field(STRUCT, 1, field(I32, 1, struct.pack(">i", 404))
                  + field(STRING, 2, text(b"plot 42: there is none")) + b"\x00") + b"\x00")
SPENT = message(b"read", EXCEPTION, 9, field(STRING, 1, text(b"deadline: spent")) + field(I32, 2, struct.pack(">i", 6)) + b"\x00")
BOTH = pairs(traceparent=TRACE, d=b"250")

# File, whether a frame reader must accept it, description, bytes.
# `level: message`: the frame is sound, its message is not; a server may answer an application exception instead of
# closing.
GOLDEN = [
    ("plain-ping", True, "plain frame; ping(), sequence 7", frame(PING)),
    ("plain-request", True, "plain frame; read(42), sequence 9", frame(READ)),
    ("plain-answer", True, "plain frame; reply of read: the string 'A caf\\u00e9.'", frame(ANSWER)),
    ("header-ping", True, "header frame without pairs; ping(), sequence 7", header(7, b"", PING)),
    ("header-no-pairs", True, "header frame with a block of 0 pairs; ping(), sequence 7", header(7, varint(1) + varint(0), PING)),
    ("header-request", True, f"header frame, pairs traceparent={TRACE.decode()} d=250; read(42), sequence 9", header(9, BOTH, READ)),
    ("header-other-order", True, "as header-request, d before traceparent", header(9, pairs(d=b"250", traceparent=TRACE), READ)),
    ("header-other-keys", True, "as header-request, with a pair of an unknown key of 200 bytes before",
     header(9, pairs(x=b"y" * 200, traceparent=TRACE, d=b"250"), READ)),
    ("header-padded", True, "as header-request, with 8 more bytes of padding",
     header(9, BOTH + b"\x00" * 8, READ)),
    ("header-answer", True, "header frame, pair s=1200,345678,90123; reply of read: the string 'A caf\\u00e9.', sequence 9",
     header(9, pairs(s=b"1200,345678,90123"), ANSWER)),
    ("header-refused", True, "header frame, pair s=0,0,0; reply of read: Refused{404, 'plot 42: there is none'}, sequence 9",
     header(9, pairs(s=b"0,0,0"), REFUSED)),
    ("header-exception", True, "header frame; application exception of type 6, 'deadline: spent', sequence 9", header(9, b"", SPENT)),
    ("header-sequence", True, "header frame; sequence 0xffffffff in the header, -1 in the message",
     header(0xFFFFFFFF, b"", message(b"ping", CALL, -1, b"\x00"))),
    ("garbage-empty", False, "length 0", frame(b"")),
    ("garbage-one-byte", False, "a frame of one byte", frame(b"\x80")),
    ("garbage-oversize", False, "length 16 MiB and one byte; nothing follows", struct.pack(">I", 16 * 2**20 + 1)),
    ("garbage-negative", False, "length 0xffffffff; nothing follows", b"\xff\xff\xff\xff"),
    ("garbage-http", False, "an HTTP request", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("garbage-magic", False, "neither 0x0fff nor 0x80 at the beginning", frame(b"\x12\x34\x56\x78" * 8)),
    ("garbage-unstrict", False, "the old binary protocol without version", frame(text(b"ping") + b"\x01" + struct.pack(">i", 7) + b"\x00")),
    ("garbage-version", False, "version 2 of the binary protocol", frame(b"\x80\x02\x00\x01" + PING[4:])),
    ("garbage-compact", False, "the compact protocol in a plain frame", frame(b"\x82\x21\x07\x04ping\x00")),
    ("garbage-header-protocol", False, "header frame that says protocol 2 (compact)", header(7, b"", PING, protocol=2)),
    ("garbage-header-transform", False, "header frame that says transform 1 (zlib)", header(7, b"", PING, transforms=b"\x01\x01")),
    ("garbage-header-short", False, "0x0fff and nothing more", frame(b"\x0f\xff")),
    ("garbage-header-cut", False, "header frame that ends in its sequence", frame(b"\x0f\xff\x00\x00\x00\x00")),
    ("garbage-header-size", False, "a header larger than its frame", header(7, BOTH, PING, words=0xFFFF)),
    ("garbage-header-no-payload", False, "header frame without payload", header(7, BOTH, b"")),
    ("garbage-header-varint", False, "a varint without end in the header", header(7, b"\xff" * 22, PING)),
    ("garbage-header-pairs", False, "2^28 pairs in a header that has none", header(7, varint(1) + varint(2**28), PING)),
    ("garbage-header-value", False, "a value that is longer than the header",
     header(7, varint(1) + varint(1) + b"\x01d" + varint(1000) + b"1", PING)),
    ("garbage-header-key", False, "a key of 2^31 bytes", header(7, varint(1) + varint(1) + varint(2**31) + b"d", PING)),
    ("garbage-name-long", False, "a name of 2^31-1 bytes", frame(b"\x80\x01\x00\x01\x7f\xff\xff\xffping")),
    ("garbage-name-negative", False, "a name of -1 bytes", frame(b"\x80\x01\x00\x01\xff\xff\xff\xffping")),
    ("garbage-name-cut", False, "a message that ends in its name", frame(b"\x80\x01\x00\x01\x00\x00\x00\x04pi")),
    ("broken-no-stop", False, "level: message; arguments without an end", frame(PING[:-1])),
    ("broken-field-cut", False, "level: message; arguments that end in a number", frame(READ[:-6])),
    ("broken-type", False, "level: message; a field of type 99", frame(PING[:-1] + b"\x63\x00\x01\x00\x00\x00\x00\x00")),
    ("broken-list", False, "level: message; an unknown field with a list of 2^31-1 numbers",
     frame(PING[:-1] + field(LIST, 9, bytes([I64]) + b"\x7f\xff\xff\xff") + b"\x00")),
    ("broken-list-negative", False, "level: message; an unknown field with a list of -1 numbers",
     frame(PING[:-1] + field(LIST, 9, bytes([I64]) + b"\xff\xff\xff\xff") + b"\x00")),
    ("broken-string", False, "level: message; an unknown field with a string of 2^31-1 bytes",
     frame(PING[:-1] + field(STRING, 9, b"\x7f\xff\xff\xff") + b"\x00")),
    ("broken-map", False, "level: message; an unknown field with a map of 2^31-1 pairs",
     frame(PING[:-1] + field(MAP, 9, bytes([I64, I64]) + b"\x7f\xff\xff\xff") + b"\x00")),
    ("broken-deep", False, "level: message; 1000 structures in each other, none of which ends",
     frame(PING[:-1] + field(STRUCT, 1, b"") * 1000)),
    ("broken-reply", False, "level: message; a reply where a call is expected", frame(message(b"ping", REPLY, 7, b"\x00"))),
]


def file_text(accept: bool, about: str, data: bytes) -> str:
    level = "frame"
    if about.startswith("level: message; "):
        level, about = "message", about.removeprefix("level: message; ")
    lines = [f"# about: {about}", f"# accept: {'yes' if accept else 'no'}", f"# level: {level}"]
    lines += [data[at:at + 32].hex(" ") for at in range(0, len(data), 32)]
    return "\n".join(lines) + "\n"


def main():
    check = "--check" in sys.argv[1:]
    FOLDER.mkdir(exist_ok=True)
    for name, accept, about, data in GOLDEN:
        file, wanted = FOLDER / f"{name}.hex", file_text(accept, about, data)
        if not check:
            file.write_text(wanted)
        elif not file.is_file() or file.read_text() != wanted:
            sys.exit(f"{file}: differs from what golden.py makes; run it")
    others = {file.name for file in FOLDER.glob("*.hex")} - {f"{name}.hex" for name, *_ in GOLDEN}
    if others:
        sys.exit(f"golden: {', '.join(sorted(others))} is not made by golden.py")


if __name__ == "__main__":
    main()
