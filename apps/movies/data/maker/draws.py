"""Random numbers that depend on the seed and on what they are for, so that one part never shifts those of another."""

import hashlib
import random

import numpy as np


def number(seed: int, *purpose: object) -> int:
    """128 bits of a purpose such as `("plot", 7)`."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def words(seed: int, *purpose: object) -> random.Random:
    """For picks of words and small numbers."""
    return random.Random(number(seed, *purpose))


def arrays(seed: int, *purpose: object) -> np.random.Generator:
    """For arrays."""
    return np.random.Generator(np.random.PCG64(number(seed, *purpose)))


def octets(seed: int, count: int, *purpose: object) -> bytes:
    """Up to 32 bytes, such as a salt."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return hashlib.sha256(text.encode()).digest()[:count]
