"""Frames and messages of the application, for what asks the services and for the fakes that they ask.

It is written apart from every chassis, since it is what they are compared with.
"""

import re
import struct
from dataclasses import dataclass, field

LIMIT = 16 * 2**20


class Closed(Exception):
    """The connection ended; `data`: what came before, of which no frame could be made."""

    def __init__(self, data=b""):
        super().__init__(f"the connection was closed after {len(data)} bytes" if data else "the connection was closed")
        self.data = data


class Malformed(Exception):
    pass


@dataclass
class Frame:
    message: bytes
    headers: dict | None = None
    sequence: int = 0
    size: int = 0


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def encode(frame: Frame) -> bytes:
    if frame.headers is None:
        return struct.pack(">I", len(frame.message)) + frame.message
    block = b"\x00\x00"
    if frame.headers:
        block += varint(1) + varint(len(frame.headers))
        for key, value in frame.headers.items():
            for part in (key.encode(), str(value).encode()):
                block += varint(len(part)) + part
    block += b"\x00" * (-len(block) % 4)
    body = struct.pack(">HHIH", 0x0FFF, 0, frame.sequence & 0xFFFFFFFF, len(block) // 4) + block + frame.message
    return struct.pack(">I", len(body)) + body


def decode(body: bytes) -> Frame:
    """Of what follows the length."""
    if body[:1] == b"\x80":
        return Frame(body, None, 0, len(body) + 4)
    if len(body) < 10 or body[:2] != b"\x0f\xff":
        raise Malformed(f"neither a header nor a message: {body[:16].hex(' ')}")
    _, flags, sequence, words = struct.unpack_from(">HHIH", body)
    if flags:
        raise Malformed(f"flags {flags:#x}")
    end = 10 + 4 * words
    if end > len(body):
        raise Malformed(f"a header of {4 * words} bytes in a frame of {len(body)}")
    data, at = body[10:end], 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            if at >= len(data) or shift > 28:
                raise Malformed("a varint without end in a header")
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return value

    def text() -> str:
        nonlocal at
        size = number()
        if size > len(data) - at:
            raise Malformed(f"{size} bytes in a header that has {len(data) - at}")
        at += size
        return data[at - size:at].decode("latin-1")

    if (protocol := number()) != 0 or (transforms := number()) != 0:
        raise Malformed(f"protocol {protocol}, or transforms")
    headers = {}
    while at < len(data):
        block = number()
        if block == 0:
            if any(data[at:]):
                raise Malformed("padding that is not 0")
            break
        if block != 1:
            raise Malformed(f"a block of type {block}")
        for _ in range(number()):
            key = text()
            headers[key] = text()
    return Frame(body[end:], headers, sequence, len(body) + 4)


def receive(connection, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        try:
            got = connection.recv(min(size - len(data), 2**20))
        except ConnectionError:
            got = b""
        if not got:
            raise Closed(bytes(data))
        data += got
    return bytes(data)


def read(connection) -> Frame:
    (size,) = struct.unpack(">I", receive(connection, 4))
    if not 1 <= size <= LIMIT:
        raise Malformed(f"a frame of {size} bytes")
    return decode(receive(connection, size))


TRACEPARENT = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])")


def traceparent(trace: bytes, span: int, sampled=True) -> str:
    return f"00-{trace.hex()}-{span:016x}-{'01' if sampled else '00'}"


@dataclass
class Golden:
    name: str
    about: str
    accept: bool
    level: str
    data: bytes = field(repr=False)

    @classmethod
    def all(cls, folder):
        for file in sorted(folder.glob("*.hex")):
            keys, data = {}, bytearray()
            for line in file.read_text().splitlines():
                if line.startswith("#"):
                    key, _, value = line[1:].partition(":")
                    keys[key.strip()] = value.strip()
                else:
                    data += bytes.fromhex(line)
            yield cls(file.stem, keys["about"], keys["accept"] == "yes", keys["level"], bytes(data))
