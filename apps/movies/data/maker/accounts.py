"""Users, whose names and passwords follow from their numbers."""

import base64

import bcrypt

from . import draws, workers

BALANCE_CENTS = 100_000_000
"""Of each user at the beginning: some 250 000 rents, which no measurement comes to the end of."""
STANDARD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BCRYPT = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
"""Digits of base64 as bcrypt orders them."""
CHUNK = 64


def name(user: int) -> str:
    return f"user{user}"


def password(user: int) -> str:
    return f"password-{user}"


def hashes(seed: int, users: int, cost: int):
    """The hash of each user's password, from number 1 on."""
    return workers.each(_hash, ((seed, user, cost) for user in range(1, users + 1)), CHUNK)


def _hash(item: tuple[int, int, int]) -> str:
    seed, user, cost = item
    digits = base64.b64encode(draws.octets(seed, 16, "salt", user))[:22].translate(bytes.maketrans(STANDARD, BCRYPT))
    # The version that Go's library writes, and every other one reads.
    return bcrypt.hashpw(password(user).encode(), b"$2a$%02d$" % cost + digits).decode()
