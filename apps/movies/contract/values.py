"""Values of contract.toml: what is given is made, what is expected is compared."""

import crypt
import json
import random
import re
import struct
import time
from urllib.parse import urlsplit

import vectors

# Tolerance of tokens' times from a day, and of other times from now. Units: s.
MINUTE = 60
_hashes = {}


class Env:
    """What values may refer to while a case runs."""

    def __init__(self, secret: str, enums: dict):
        self.secret, self.enums = secret, enums
        self.fresh, self.steps = {}, []


def special(value):
    """The name and the argument of `{ NAME = … }`."""
    if isinstance(value, dict):
        for key in value:
            if re.fullmatch("[A-Z][A-Z_]+", key) and key in GIVEN | EXPECTED:
                return key, value[key]
    return None, None


def _token(env, given):
    user = given["user"]
    made = vectors.token("ab" * 32 if given.get("secret") else env.secret, user, given.get("expires_s", int(time.time()) + given.get("expires_in_s", 3600)))
    return made[:-1] if given.get("cut") else made


def _bcrypt(password):
    if password not in _hashes:
        _hashes[password] = crypt.crypt(password, crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))
    return _hashes[password]


def _step(env, place):
    value = env.steps
    for part in place if isinstance(place, list) else [place]:
        value = value[part]
    return value


def _factors(env, given):
    users, movies = given["users"], given["movies"]
    rank = len((users or movies)[0])
    flat = [number for row in users + movies for number in row]
    return struct.pack(f"<4sIII{len(flat)}f", b"ALS1", rank, len(users), len(movies), *flat)


# FRESH is random, so that no two are neighbours: a frame with broken bytes may name a neighbour.
GIVEN = {
    "HEX": lambda env, given: bytes.fromhex(given),
    "REPEAT": lambda env, given: given[0] * given[1],
    "FRESH": lambda env, given: env.fresh.setdefault(given, random.getrandbits(62) + 1),
    "TOKEN": _token,
    "BCRYPT": lambda env, given: _bcrypt(given),
    "STEP": _step,
    "JSON": lambda env, given: json.dumps(given),
    "FACTORS": _factors,
}
TIMES = {"NOW_S": 1, "NOW_MS": 1000}


def make(value, env):
    """A value that is sent or stored."""
    name, given = special(value)
    if name in GIVEN:
        return GIVEN[name](env, make(given, env) if name != "JSON" else given)
    if name in TIMES:
        return int(time.time() * TIMES[name]) + given
    if name:
        raise ValueError(f"{{ {name} = … }} is for what is expected")
    if isinstance(value, dict):
        return {key: make(one, env) for key, one in value.items()}
    if isinstance(value, list):
        return [make(one, env) for one in value]
    return value


def _any(env, given, got):
    kinds = {"number": (int, float), "text": (str, bytes), "list": list, "thing": object}
    return isinstance(got, kinds[given]) and not (given == "number" and isinstance(got, bool))


def _token_of(env, given, got):
    user = make(given, env)
    parts = got.split(".") if isinstance(got, str) else []
    if len(parts) != 4 or not all(part.isdigit() for part in parts[:2]) or len(parts[2]) != 16:
        return False
    expires = int(parts[1])
    return got == vectors.token(env.secret, user, expires, parts[2]) and abs(expires - time.time() - 86400) < MINUTE


def _signed(env, given, got):
    given = make(given, env)
    clip, user = (given["clip"], given.get("user")) if isinstance(given, dict) else (given, None)
    parts = urlsplit(got).path.split("/") if isinstance(got, str) else []
    if len(parts) != 7 or parts[1] != "hls" or not parts[3].isdigit() or not parts[4].isdigit():
        return False
    return got == vectors.signed(env.secret, int(parts[4]), int(parts[3]), clip) and user in (None, int(parts[4]))


def _some_order(env, given, got):
    if not isinstance(got, list) or len(given) != len(got):
        return False
    left = list(got)
    for one in given:
        found = next((at for at, other in enumerate(left) if not differences(one, other, env)), None)
        if found is None:
            return False
        del left[found]
    return True


EXPECTED = {
    "ANY": _any,
    "NEAR": lambda env, given, got: isinstance(got, (int, float)) and abs(got - given[0]) <= given[1],
    "BETWEEN": lambda env, given, got: isinstance(got, (int, float)) and given[0] <= got <= given[1],
    "SIZE": lambda env, given, got: isinstance(got, (str, bytes, list)) and len(got) == given,
    "MATCHES": lambda env, given, got: isinstance(got, str) and re.search(given, got) is not None,
    "SOME_ORDER": _some_order,
    "TOKEN_OF": _token_of,
    "SIGNED": _signed,
    "NOW_S": lambda env, given, got: isinstance(got, int) and abs(got - given - time.time()) < MINUTE,
    "NOW_MS": lambda env, given, got: isinstance(got, int) and abs(got - given - time.time() * 1000) < MINUTE * 1000,
}


def differences(expected, got, env, where="", partial=False) -> list:
    """Lines that say where `got` is not what is expected; `partial`: tables may have more members."""
    name, given = special(expected)
    if name in EXPECTED:
        fits = EXPECTED[name](env, given, got)
        return [] if fits else [f"{where or 'it'}: expected {name} {short(given)}, got {short(got)}"]
    if name:
        expected = make(expected, env)
    if isinstance(expected, dict) and isinstance(got, dict):
        out = [line for key in expected if key in got for line in differences(expected[key], got[key], env, f"{where}.{key}".lstrip("."), partial)]
        out += [f"{where}.{key}".lstrip(".") + f": expected {short(expected[key])}, is not there" for key in expected if key not in got]
        if not partial:
            out += [f"{where}.{key}".lstrip(".") + f": not expected, got {short(got[key])}" for key in got if key not in expected]
        return out
    if isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return [f"{where or 'it'}: expected {len(expected)} elements {short(expected)}, got {len(got)} {short(got)}"]
        return [line for at, (one, other) in enumerate(zip(expected, got)) for line in differences(one, other, env, f"{where}[{at}]", partial)]
    if isinstance(expected, str) and isinstance(got, bytes):
        expected = expected.encode()
    if isinstance(expected, str) and isinstance(got, int) and expected in env.enums:
        expected = env.enums[expected]
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)) and not isinstance(expected, bool) and not isinstance(got, bool):
        if abs(expected - got) <= (1e-6 if isinstance(expected, float) or isinstance(got, float) else 0):
            return []
    elif type(expected) is type(got) and expected == got:
        return []
    return [f"{where or 'it'}: expected {short(expected)}, got {short(got)}"]


def json_or(text: bytes):
    """None where it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def short(value) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:250]}… ({len(text)} characters)"
