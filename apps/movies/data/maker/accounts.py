"""Users, whose names and passwords follow from their numbers."""

import base64

import bcrypt

from . import draws, workers

BALANCE_CENTS = 100_000_000
"""Of each user at the beginning: some 250 000 rents, which no measurement comes to the end of."""
STANDARD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
BCRYPT = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
"""Digits of base64 as bcrypt orders them."""
PASSWORDS = 64
"""Different passwords of all users together: each takes as long to hash as a login, 50 ms of a processor by default."""


def name(user: int) -> str:
    return f"user{user}"


def password(user: int) -> str:
    return f"password-{user % PASSWORDS}"


def hashes(seed: int, users: int, cost: int):
    """The hash of each user's password, from number 1 on; users with the same password share its salt."""
    different = list(workers.each(_hash, ((seed, user, cost) for user in range(min(PASSWORDS, users + 1))), 1))
    return (different[user % PASSWORDS] for user in range(1, users + 1))


def _hash(item: tuple[int, int, int]) -> str:
    seed, user, cost = item
    digits = base64.b64encode(draws.octets(seed, 16, "salt", user))[:22].translate(bytes.maketrans(STANDARD, BCRYPT))
    # The version that Go's library writes, and every other one reads.
    return bcrypt.hashpw(password(user).encode(), b"$2a$%02d$" % cost + digits).decode()
