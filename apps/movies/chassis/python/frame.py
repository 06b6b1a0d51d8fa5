"""Frames: a length, then a message by itself, or THeader's header (a subset: binary protocol, no transforms) and a message.

```
u32 length | u16 0x0fff  u16 flags  u32 sequence  u16 words of the header | header, padded to words | message
header: varint protocol 0, varint transforms 0, blocks: varint 1, varint pairs, each a key and a value with varint lengths
```
"""

import struct
from dataclasses import dataclass

# Source: the contract of the application; THeader allows 1 GiB.
LIMIT = 16 * 2**20
MAGIC = 0x0FFF
KEY_VALUE = 1


class BadFrame(Exception):
    """Bytes that are no frame, or one that is not taken; the connection cannot be used any more."""


@dataclass(frozen=True)
class Frame:
    message: memoryview
    """None in a plain frame, which is answered by one."""
    headers: dict | None
    sequence: int = 0


def parse(body: bytes) -> Frame:
    """Of what follows the length. Errors: BadFrame."""
    view = memoryview(body)
    if len(view) >= 1 and view[0] == 0x80:
        return Frame(view, None)
    if len(view) < 10 or view[0] << 8 | view[1] != MAGIC:
        raise BadFrame("neither a header nor a message")
    _, _, sequence, words = struct.unpack_from(">HHIH", view)
    end = 10 + 4 * words
    if end >= len(view):
        raise BadFrame(f"a header of {4 * words} bytes in a frame of {len(view)}")
    if view[end] != 0x80:
        raise BadFrame("no message after the header")
    return Frame(view[end:], _headers(bytes(view[10:end])), sequence)


def _headers(data: bytes) -> dict:
    at = 0

    def varint() -> int:
        nonlocal at
        value = 0
        # 32 bits take five bytes at most.
        for shift in range(0, 35, 7):
            if at >= len(data):
                raise BadFrame("a header that ends within a number")
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise BadFrame("a number of more than 32 bits in a header")

    def text() -> bytes:
        nonlocal at
        size = varint()
        if size > len(data) - at:
            raise BadFrame(f"{size} bytes in a header that has {len(data) - at}")
        at += size
        return data[at - size : at]

    if varint() != 0:
        raise BadFrame("a protocol other than binary")
    if varint() != 0:
        raise BadFrame("transforms")
    headers = {}
    while at < len(data):
        block = varint()
        if block == 0:  # padding
            break
        if block != KEY_VALUE:
            raise BadFrame(f"a block of type {block} in a header")
        for _ in range(varint()):
            key = text()
            headers[key.decode("latin-1")] = text().decode("latin-1")
    return headers


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def encode(message: bytes, headers: dict | None, sequence: int = 0) -> bytes:
    """A whole frame, a plain one where `headers` is None."""
    if headers is None:
        return struct.pack(">I", len(message)) + message
    block = bytearray(b"\x00\x00")
    block += _varint(KEY_VALUE) + _varint(len(headers))
    for key, value in headers.items():
        block += _varint(len(key)) + key.encode("latin-1") + _varint(len(value)) + value.encode("latin-1")
    block += b"\x00" * (-len(block) % 4)
    start = struct.pack(">IHHIH", 10 + len(block) + len(message), MAGIC, 0, sequence, len(block) // 4)
    return start + bytes(block) + message
