#!/usr/bin/python3
"""Makes vectors.json: what every chassis must compute alike, in the plainest way that there is.

vectors.py          writes it
vectors.py --check  says whether it is as it would be written
"""

import base64
import hashlib
import hmac
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
SECRET = "".join(f"{byte:02x}" for byte in range(32))
SHARDS = (1, 2, 3, 10)


def fnv1a64(data: bytes) -> int:
    """Source: draft-eastlake-fnv, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def jump(key: int, buckets: int) -> int:
    """Source: Lamping and Veach, arXiv:1406.2294, figure 1."""
    b, j = -1, 0
    while j < buckets:
        b = j
        key = (key * 2862933555777941757 + 1) % 2**64
        j = int((b + 1) * (float(1 << 31) / float((key >> 33) + 1)))
    return b


def token(secret: str, user: int, expires: int, nonce: str = "0123456789abcdef") -> str:
    text = f"{user}.{expires}.{nonce}"
    return f"{text}.{hmac.new(bytes.fromhex(secret), text.encode(), hashlib.sha256).hexdigest()}"


def signed(secret: str, user: int, expires: int, clip: str) -> str:
    digest = hashlib.md5(f"{expires}/{user}/{clip} {secret}".encode()).digest()
    signature = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return f"/hls/{signature}/{expires}/{user}/{clip}/master.m3u8"


def title_key(title: str) -> str:
    return "title:" + hashlib.sha1(title.lower().encode()).hexdigest()


def bucket(ns: int) -> int:
    """Of a histogram of durations: the numbers below 8, then 8 for each power of two up to 2^40."""
    ns = min(ns, 2**40)
    if ns < 8:
        return ns
    e = ns.bit_length() - 1
    return 8 * (e - 2) + (ns >> (e - 3) & 7)


def keys():
    yield from ("", "a", "foobar", "info:1", "plot:17", "thumb:999", "photo:3:0", "rating:1000", "person:52", "video:7")
    yield title_key("The Godfather")
    yield from ("review:1", "mr:1:0", "mr:1:12", "ur:10000:3", "42", "8070450532247928833", "é", "\x00")
    for number in range(1, 21):
        yield f"plot:{number * 37}"


def vectors():
    good = token(SECRET, 7, 1800000000)
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    return {
        "about": "Made by vectors.py. Numbers of more than 53 bits are texts in base 10.",
        "fnv1a64": [
            {"key_hex": key.encode().hex(), "key": key, "hash": str(fnv1a64(key.encode())),
             "shards": {str(n): jump(fnv1a64(key.encode()), n) for n in SHARDS}}
            for key in keys()
        ],
        "jump": [
            {"key": str(key), "shards": {str(n): jump(key, n) for n in SHARDS}}
            for key in (0, 1, 2, 42, 0xDEADBEEF, 2**31, 2**33 - 1, 2**63 - 1, 2**63, 2**64 - 1)
        ],
        "title_keys": [{"title": title, "key": title_key(title)} for title in ("Alien", "THE GODFATHER", "12 Angry Men")],
        "tokens": {
            "secret": SECRET,
            "now_s": 1799999000,
            "good": [{"token": token(SECRET, user, expires, nonce), "user": user, "expires_s": expires}
                     for user, expires, nonce in ((7, 1800000000, "0123456789abcdef"), (1, 1799999001, "0" * 16), (2**53, 4000000000, "f" * 16))],
            "bad": [
                {"token": good[:-1] + ("0" if good[-1] != "0" else "1"), "why": "one digit of the HMAC differs"},
                {"token": good[:-1], "why": "cut"},
                {"token": good + "0", "why": "longer"},
                {"token": good.upper(), "why": "upper-case digits, where they differ"},
                {"token": token(SECRET, 7, 1799999000), "why": "expires now"},
                {"token": token(SECRET, 7, 1799990000), "why": "expired"},
                {"token": token("00" * 32, 7, 1800000000), "why": "of another secret"},
                {"token": "8" + good[1:], "why": "another user"},
                {"token": "+7" + good[1:], "why": "a sign"},
                {"token": "", "why": "empty"},
                {"token": "..", "why": "empty parts"},
                {"token": "7.1800000000.0123456789abcdef", "why": "no HMAC"},
                {"token": good.replace(".0123456789abcdef", ""), "why": "no nonce"},
                {"token": good.replace("0123456789abcdef", "fedcba9876543210"), "why": "another nonce"},
                {"token": token(SECRET, 7, 1800000000, "0123456789ABCDEF"), "why": "a nonce of upper-case digits"},
                {"token": token(SECRET, 7, 1800000000, "0123"), "why": "a short nonce"},
                {"token": good + ".1", "why": "a part too many"},
                {"token": token(SECRET, 10**30, 1800000000), "why": "a user beyond 64 bits"},
            ],
        },
        "signed": {
            "secret": SECRET,
            "addresses": [
                {"user": user, "expires_s": expires, "clip": clip, "address": signed(SECRET, user, expires, clip)}
                for user, expires, clip in ((7, 1800000000, "clip-3"), (1, 1800000001, "clip-0"), (10000, 1900000000, "clip-7"))
            ],
        },
        "buckets": [{"ns": str(ns), "bucket": bucket(ns)} for ns in
                    (*range(18), 31, 32, 33, 35, 36, 1000, 5_000_000, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 5 * 2**31, 2**40 - 1, 2**40, 2**40 + 1,
                     10**17)],
        # The header `s` of an answer.
        "times": {
            "good": [{"text": ",".join(map(str, times)), "times": [str(time) for time in times]}
                     for times in ((0, 0, 0), (1000, 2000, 3000), (7, 2**40, 10**18 - 1))],
            # Of such an answer no times are counted.
            "bad": ["", "1", "1,2", "1,2,", ",2,3", "1,2,3,", "1,2,3,4", "-1,2,3", "+1,2,3", "1 ,2,3", "1.0,2,3", "1,2,x", "1,2,1000000000000000000",
                    "\u0661,2,3"],
        },
        "traceparent": {
            "good": [
                {"text": f"00-{trace}-{span}-01", "trace": trace, "span": span, "sampled": True},
                {"text": f"00-{trace}-{span}-00", "trace": trace, "span": span, "sampled": False},
            ],
            # A request whose header is one of these is served, untraced.
            "bad": ["", "00", f"00-{trace}-{span}", f"00-{trace[:-1]}-{span}-01", f"00-{trace[:-1]}g-{span}-01",
                    f"00-{trace}-{span}-01-", "00-" + "0" * 32 + f"-{span}-01", f"00-{trace}-" + "0" * 16 + "-01"],
        },
    }


def main():
    text = json.dumps(vectors(), indent=1, ensure_ascii=True) + "\n"
    file = HERE / "vectors.json"
    if "--check" in sys.argv[1:]:
        if file.read_text() != text:
            sys.exit(f"{file}: differs from what vectors.py makes; run it")
    else:
        file.write_text(text)


if __name__ == "__main__":
    main()
