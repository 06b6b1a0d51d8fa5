#!/usr/bin/python3
"""The contract of the HTTP interface: asks a site that runs, however it is made, and says what is not as it must be.

over_http.py URL [--case TEXT] [--json FILE]

URL is that of the load balancer: http://127.0.0.1:8080. The site begins with the data set; what is asked changes it: a user and some
reviews and rentals more. Standard library only.
"""

import argparse
import base64
import concurrent.futures
import http.client
import json
import pathlib
import random
import re
import sys
import time
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

sys.dont_write_bytecode = True

from busy import repeated  # noqa: E402

CASES = []
# Longest wait for an answer, on a busy machine. Units: s.
PATIENCE = 15
# Longest time from ready until a site answers completely. Units: s.
WARM = 60
PAGE = ["info", "plot", "thumbnail", "rating", "cast", "reviews", "photos", "video", "similar", "ads", "missing"]
INFO = ["movie", "title", "year", "minutes", "certificate", "genre", "director", "cast", "photos"]
CODES = {400: "BAD_REQUEST", 401: "UNAUTHORIZED", 402: "PAYMENT_REQUIRED", 404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 409: "CONFLICT", 413: "TOO_LARGE"}
# The balance of a new user. Source: the service user. Units: cents.
START = 2000
JPEG = b"\xff\xd8\xff"


def case(name: str):
    def add(function):
        CASES.append((name, function))
        return function
    return add


class Wrong(Exception):
    """The site is not as it must be."""


def must(holds, what: str) -> None:
    if not holds:
        raise Wrong(what)


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self):
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise Wrong(f"no JSON: {self.body[:200]!r}") from error

    def __str__(self):
        return f"{self.status} {self.body[:300].decode(errors='replace')}"


class Site:
    def __init__(self, url: str):
        parts = urlsplit(url)
        must(parts.scheme == "http" and parts.hostname, f"{url}: it takes http://HOST:PORT")
        self.host, self.port = parts.hostname, parts.port or 80
        self._known = {}

    def ask(self, line: str, body=None, token=None, cookie=None, own=False, headers=()) -> Answer:
        """`line`: method and target. `token`: as a bearer. `own`: with the header by which the site knows its own pages."""
        method, _, target = line.partition(" ")
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = dict(headers)
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        if cookie is not None:
            sent["Cookie"] = f"other=1; token={cookie}"
        if own:
            sent["X-Requested-With"] = "movies"
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request(method, target, data, sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def good(self, line: str, *arguments, **more):
        answer = self.ask(line, *arguments, **more)
        must(answer.status == 200, f"{line}: {answer}")
        return answer.json()

    def refuses(self, status: int, line: str, *arguments, **more) -> Answer:
        answer = self.ask(line, *arguments, **more)
        must(answer.status == status, f"{line} {arguments}: expected {status}, got {answer}")
        error = answer.json().get("error", {})
        must(set(error) == {"code", "what"} and error["code"] == CODES[status] and error["what"], f"{line}: {answer}")
        return answer

    def token(self, user: int = 1) -> str:
        if user not in self._known:
            body = {"name": f"user{user}", "password": f"password-{user}"}
            self._known[user] = self.good("POST /api/login", body)["token"]
        return self._known[user]

    def new_user(self) -> tuple:
        """Name, password and token of one who has just signed up."""
        name, password = f"new.{random.getrandbits(48):x}", "a password of one"
        return name, password, self.good("POST /api/sign-up", {"name": name, "password": password})["token"]

    def page(self, movie: int, more="", **how) -> dict:
        return self.good(f"GET /api/movie/{movie}{more}", **how)


def patient(ask) -> Answer:
    """The answer to what may be asked again: a busy machine is late, or takes no more, and says so."""
    for _ in range(10):
        answer = ask()
        if answer.status not in (503, 504):
            return answer
        must(answer.json()["error"]["code"] in ("UNAVAILABLE", "OVERLOADED", "DEADLINE"), answer)
    return answer


def at_once(count: int, ask) -> list:
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(ask, range(count)))


# Pages of the site.

@case("serves its pages, which take nothing from elsewhere")
def _(s):
    for path in ("/", "/movie?id=1", "/watch", "/login", "/account", "/reviews?id=1"):
        answer = s.ask(f"GET {path}")
        must(answer.status == 200 and answer.headers["Content-Type"].startswith("text/html"), f"{path}: {answer}")
        must("frame-ancestors 'none'" in answer.headers["Content-Security-Policy"], f"{path}: no policy")
        must(answer.headers["X-Content-Type-Options"] == "nosniff", f"{path}: {answer.headers}")
        for other in re.findall(rb'(?:src|href)="(?:https?:)?//[^"]*', answer.body):
            raise Wrong(f"{path}: {other!r}")
    scripts = re.findall(rb'src="(/assets/[^"]+)"', s.ask("GET /").body)
    must(scripts, "the first page has no script")
    for script in scripts:
        must(s.ask(f"GET {script.decode()}").status == 200, script)
    must(s.ask("GET /nothing").status == 404, "/nothing")


# The page of a film.

@case("shows a film with all its parts")
def _(s):
    answer = s.ask("GET /api/movie/1?start=0&reviews=5")
    must(answer.status == 200, answer)
    page = answer.json()
    must(sorted(page) == sorted(PAGE) and sorted(page["info"]) == sorted(INFO), f"{sorted(page)}, {sorted(page['info'])}")
    must(page["missing"] == [] and answer.headers["X-Degraded"] is None, f"missing: {page['missing']}")
    info = page["info"]
    must(info["movie"] == 1 and info["title"] and info["year"] > 1900, info)
    must(page["plot"] and isinstance(page["plot"], str), "no plot")
    must(base64.b64decode(page["thumbnail"]).startswith(JPEG), "the thumbnail is no JPEG")
    must(len(page["photos"]) == info["photos"] and all(base64.b64decode(one).startswith(JPEG) for one in page["photos"]), "photos")
    must([one["person"] for one in page["cast"]] == info["cast"] and all(one["name"] for one in page["cast"]), page["cast"])
    must(set(page["rating"]) == {"mean", "count"} and 1 <= page["rating"]["mean"] <= 10, page["rating"])
    video = page["video"]
    must(sorted(video) == ["cents", "clip", "movie", "renditions", "seconds"] and video["movie"] == 1, video)
    must(video["renditions"] and all(sorted(one) == ["height", "kbps"] for one in video["renditions"]), video)
    must(0 < len(page["similar"]) <= 10 and 1 not in page["similar"], page["similar"])
    must(len(page["ads"]) == 3 and all(sorted(one) == ["ad", "link", "text"] for one in page["ads"]), page["ads"])


@case("shows other similar films for each film, and none that the user has rented or reviewed")
def _(s):
    _, _, token = s.new_user()
    lists = [s.page(movie, token=token)["similar"] for movie in range(1, 6)]
    must(len({tuple(one) for one in lists}) > 1, lists)
    rented, reviewed = lists[0][:2]
    s.good("POST /api/rent", {"movie": rented, "key": "k"}, token=token)
    s.good("POST /api/review", {"title": s.page(reviewed)["info"]["title"], "text": "Seen.", "stars": 7}, token=token)
    similar = s.page(1, token=token)["similar"]
    must(len(similar) > 0 and not {rented, reviewed} & set(similar), f"{rented} and {reviewed} are not left out of {similar}")


@case("counts the stars of a user once for each film")
def _(s):
    _, _, token = s.new_user()
    title, before = s.page(7)["info"]["title"], s.page(7)["rating"]
    total = before["mean"] * before["count"]
    for stars in (2, 9, 4):
        s.good("POST /api/review", {"title": title, "text": f"{stars} stars.", "stars": stars}, token=token)
        for _ in range(100):
            now = s.page(7)["rating"]
            if now["count"] == before["count"] + 1 and abs(now["mean"] * now["count"] - total - stars) < 1e-6:
                break
            # An old rating may be kept in memory for some seconds.
            time.sleep(0.1)
        else:
            raise Wrong(f"{before}, then {stars} stars: {now}")


@case("pages have reviews from the newest on, as many as are asked for")
def _(s):
    first = s.page(1, "?reviews=5")
    whole = s.page(1, "?reviews=100")["reviews"]
    must(0 < len(whole) <= 100 and whole[:5] == first["reviews"], "the first five are not those of all")
    for review in whole:
        must(sorted(review) == ["movie", "review", "stars", "text", "time_ms", "user"] and review["movie"] == 1, review)
    must(s.page(1, "?start=3&reviews=4")["reviews"] == whole[3:7], "start=3")
    must(s.page(1, "?reviews=0")["reviews"] == [], "reviews=0")
    must(s.page(1, "?start=1000000&reviews=5")["reviews"] == [], "start=1000000")
    must(len(s.page(1)["reviews"]) == min(10, len(whole)), "10 are usual")


@case("refuses lists that are too long, and numbers that are none")
def _(s):
    for query in ("reviews=101", "reviews=-1", "start=-1", "start=x", "start=1.5", "reviews=", "start=1000001", "reviews=007", "start=%201"):
        s.refuses(400, f"GET /api/movie/1?{query}")


@case("knows no film that is not there")
def _(s):
    for path in ("999999", "999999999999999999", "0", "01", "-1", "x", "1/x", "9999999999999999999", ""):
        s.refuses(404, f"GET /api/movie/{path}")


@case("answers with the headers that keep it from being kept or run, and with its time")
def _(s):
    for line in ("GET /api/movie/1", "GET /api/search", "GET /api/nothing", "POST /api/login"):
        answer = s.ask(line)
        headers = answer.headers
        must(headers["Content-Type"] == "application/json", f"{line}: {headers['Content-Type']}")
        must(headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff", f"{line}: {headers}")
        must(any("default-src 'none'" in one for one in headers.get_all("Content-Security-Policy")), f"{line}: no policy")
        must(re.fullmatch(r"app;dur=\d+\.\d+", headers["Server-Timing"] or ""), f"{line}: {headers['Server-Timing']}")


@case("says what is missing in the body and in a header, or in neither")
def _(s):
    def ask(at):
        answer = patient(lambda: s.ask(f"GET /api/movie/{at % 10 + 1}"))
        must(answer.status == 200, answer)
        missing = answer.json()["missing"]
        must((answer.headers["X-Degraded"] or "") == ",".join(missing), f"{missing}, {answer.headers['X-Degraded']}")
    at_once(16, ask)


@case("shows the same to many at once")
def _(s):
    answers = at_once(24, lambda _: patient(lambda: s.ask("GET /api/movie/2?reviews=3")))
    must(all(answer.status == 200 for answer in answers), [answer.status for answer in answers])
    pages = [answer.json() for answer in answers]
    whole = [page for page in pages if not page["missing"]] or [s.page(2, "?reviews=3")]
    must(all(value == whole[0][key] for page in pages for key, value in page.items() if not page["missing"]), "they differ")


@case("takes any header for a trace")
def _(s):
    for trace in ("", "x", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01", "ff" * 200):
        must(s.ask("GET /api/search?n=1", headers={"traceparent": trace}).status == 200, trace)


# Search.

@case("lists films by rank where nothing is searched for")
def _(s):
    answer = s.good("GET /api/search")
    must(sorted(answer) == ["all", "hits"] and answer["all"] >= 10, answer)
    hits = answer["hits"]
    must([hit["movie"] for hit in hits] == list(range(1, len(hits) + 1)) and len(hits) == min(20, answer["all"]), hits)
    must(all(sorted(hit) == ["movie", "title", "weight", "year"] and hit["weight"] == 0 for hit in hits), hits)
    must(s.good("GET /api/search?q=&start=3&n=2")["hits"] == hits[3:5], "start=3&n=2")
    must(s.good("GET /api/search?q=%20%20&n=1")["hits"] == hits[:1], "blanks are no words")


@case("finds films with the words in their title first")
def _(s):
    words = lambda title: set(re.findall(r"\w+", title.lower()))
    for hit in s.good("GET /api/search?n=8")["hits"]:
        found = s.good(f"GET /api/search?q={quote(hit['title'])}&n=5")
        must(found["hits"] and words(hit["title"]) <= words(found["hits"][0]["title"]), f"{hit['title']}: {found}")
        # One with more words of the query's may be before it, such as a sequel.
        must(hit["movie"] in [one["movie"] for one in found["hits"][:3]], f"{hit['title']}: {found}")
        must(found["hits"][0]["weight"] > 0 and found["all"] >= len(found["hits"]), found)
        weights = [one["weight"] for one in found["hits"]]
        must(weights == sorted(weights, reverse=True), f"{hit['title']}: {weights}")


@case("finds by directors, by stems, in any case of letters")
def _(s):
    director = next(page["info"]["director"] for page in map(s.page, range(1, 11)) if page["info"]["director"])
    word = director.split()[-1]
    found = {q: {hit["movie"] for hit in s.good(f"GET /api/search?n=100&q={quote(q)}")["hits"]} for q in (word, word.upper(), word.lower())}
    must(found[word] and found[word] == found[word.upper()] and found[word] <= found[word.lower()], f"{word}: {found}")


@case("finds nothing, and takes any text")
def _(s):
    must(s.good("GET /api/search?q=zzzzqqqq") == {"hits": [], "all": 0}, "zzzzqqqq")
    for text in ('AND (OR "', "a*b?c~[1 TO 2]", "\\", "<script>", "é" * 100, "+-!", "title:x"):
        must(isinstance(s.good(f"GET /api/search?q={quote(text)}")["hits"], list), text)


@case("refuses searches beyond the limits")
def _(s):
    for query in ("n=0", "n=101", "n=x", "start=-1", "start=1000001", "q=" + "x" * 257):
        s.refuses(400, f"GET /api/search?{query}")


@case("gives titles in the order that was asked for")
def _(s):
    hits = s.good("GET /api/titles?ids=3,1,999999,2")["hits"]
    must([hit["movie"] for hit in hits] == [3, 1, 2] and all(hit["title"] and hit["weight"] == 0 for hit in hits), hits)
    for ids in ("", "1,x", "0", "-1", "1,,2", "1," * 101 + "1", "99999999999999999999"):
        s.refuses(400, f"GET /api/titles?ids={ids}")
    s.refuses(400, "GET /api/titles")


# Users.

@case("logs in, in any case of letters, and sets the cookie")
def _(s):
    answer = s.ask("POST /api/login", {"name": "USER3", "password": "password-3"})
    must(answer.status == 200, answer)
    token = answer.json()
    must(sorted(token) == ["expires_s", "token", "user"] and token["user"] == 3, token)
    must(abs(token["expires_s"] - time.time() - 86400) < 120, token)
    must(re.fullmatch(rf"3\.{token['expires_s']}\.[0-9a-f]{{16}}\.[0-9a-f]{{64}}", token["token"]), token)
    cookie = answer.headers["Set-Cookie"]
    must(cookie.startswith(f"token={token['token']}; ") and "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie, cookie)


@case("refuses a wrong login in the same words")
def _(s):
    whats = {s.refuses(401, "POST /api/login", {"name": name, "password": "not the right one"}).json()["error"]["what"]
             for name in ("user1", "no-such-user", "no name at all", "-")}
    must(len(whats) == 1, whats)


@case("refuses bodies that are none")
def _(s):
    login = {"name": "user1", "password": "password-1"}
    bodies = [b"", b"{", b"[]", b"1", b"null", b'"x"', b"{} x", b'{"name":"user1"}', b"\xff", b"{'name':'user1','password':'password-1'}",
              {**login, "name": 1}, {**login, "name": None}, {**login, "password": ["password-1"]}, {**login, "name": ""},
              {**login, "name": "x" * 33}, {**login, "password": "short"}, {**login, "password": "x" * 73}, b" " * 65537,
              json.dumps(login).encode() + b" " * 65536]
    for body in bodies:
        s.refuses(400, "POST /api/login", body)
    must(s.ask("POST /api/login", json.dumps(login).encode() + b" " * 1000).status == 200, "blanks behind")


@case("signs up once for a name")
def _(s):
    name, password, token = s.new_user()
    must(s.page(1, token=token)["missing"] is not None, "the token is not taken")
    s.refuses(409, "POST /api/sign-up", {"name": name.upper(), "password": "another password"})
    again = s.good("POST /api/login", {"name": name.upper(), "password": password})
    must(again["user"] == int(token.split(".")[0]), again)
    s.refuses(401, "POST /api/login", {"name": name, "password": password + "x"})
    for bad in ("a", "-ann", "ann b", "änn", "a" * 33, ""):
        s.refuses(400, "POST /api/sign-up", {"name": bad, "password": password})
    for bad in ("1234567", "x" * 73):
        s.refuses(400, "POST /api/sign-up", {"name": name + "2", "password": bad})
    name = f"many.{random.getrandbits(48):x}"
    answers = at_once(4, lambda at: s.ask("POST /api/sign-up", {"name": name, "password": f"password-{at}"}).status)
    # To hash passwords takes long, so that a busy machine may not get to all of them in time.
    must(answers.count(200) <= 1 and set(answers) <= {200, 409, 503, 504}, answers)
    last = s.ask("POST /api/sign-up", {"name": name, "password": password}).status
    must(last == 409 if 200 in answers else last in (200, 409), f"{answers}, then {last}")


@case("takes passwords of 72 bytes, all of which count")
def _(s):
    name, password = f"long.{random.getrandbits(48):x}", "é" * 35 + "ab"
    s.good("POST /api/sign-up", {"name": name, "password": password})
    s.good("POST /api/login", {"name": name, "password": password})
    s.refuses(401, "POST /api/login", {"name": name, "password": password[:-1] + "c"})


def forged(token: str) -> list:
    user, expires, nonce, proof = token.split(".")
    return ["x", token[:-1], token + "0", f"{int(user) + 1}.{expires}.{nonce}.{proof}", f"{user}.{int(expires) + 1}.{nonce}.{proof}", f"0{token}",
            f"{user}.{expires}.{nonce}.{proof.upper()}" if proof.upper() != proof else "x", f"{user}.1.{nonce}.{proof}",
            f"{user}.{expires}.{nonce}.{'0' * 64}", f"{user}.{expires}.{int(nonce, 16) ^ 1:016x}.{proof}", f"{user}.{expires}.{proof}"]


@case("tells a program that its token is none, and a browser nothing")
def _(s):
    for bad in forged(s.token()):
        s.refuses(401, "GET /api/movie/1", token=bad)
        must(s.ask("GET /api/movie/1", cookie=bad).status == 200, f"cookie {bad}")
        s.refuses(401, "POST /api/rent", {"movie": 1, "key": "k"}, token=bad)
        s.refuses(401, "POST /api/rent", {"movie": 1, "key": "k"}, cookie=bad, own=True)
    must(s.ask("GET /api/movie/1", headers={"Authorization": "Basic eDp5"}).status == 200, "another kind of proof is none")


@case("takes no change from another site by the cookie")
def _(s):
    token = s.token(4)
    for path, body in (("rent", {"movie": 1, "key": f"k{random.getrandbits(32)}"}), ("review", {"title": "x", "text": "y", "stars": 5}), ("logout", {})):
        s.refuses(401, f"POST /api/{path}", body, cookie=token)
        s.refuses(401, f"POST /api/{path}", body, cookie=token, headers={"X-Requested-With": "XMLHttpRequest"})
    body = {"movie": 1, "key": f"k{random.getrandbits(32)}"}
    must(s.ask("POST /api/rent", body, cookie=token, own=True).status == 200, "the cookie with the header")
    must(s.ask("POST /api/rent", body, token=token).status == 200, "a bearer needs none")
    must(s.ask("POST /api/rent", body, token=token, cookie="x").status == 200, "a bearer goes before the cookie")


@case("logs out")
def _(s):
    name, password, token = s.new_user()
    answer = s.ask("POST /api/logout", {}, cookie=token, own=True)
    must(answer.status == 200 and answer.json() in ({}, []), answer)
    must(re.match(r"token=; .*Max-Age=0", answer.headers["Set-Cookie"] or ""), answer.headers["Set-Cookie"])
    must(s.ask("POST /api/logout").status == 200, "without a login")
    must(s.ask("POST /api/logout", {}, token=token).status == 200, "once more")
    title = s.page(1)["info"]["title"]
    for line, body in (("POST /api/rent", {"movie": 1, "key": "k"}), ("POST /api/deposit", {"cents": 500, "key": "k"}), ("GET /api/rentals", None),
                       ("GET /api/my-reviews", None), ("POST /api/review", {"title": title, "text": "No.", "stars": 5})):
        s.refuses(401, line, body, token=token)


@case("logs out of one of two logins of a second")
def _(s):
    name, password, _ = s.new_user()
    login = {"name": name, "password": password}
    one, other = (s.good("POST /api/login", login)["token"] for _ in range(2))
    s.good("POST /api/logout", {}, token=one)
    s.refuses(401, "GET /api/rentals", token=one)
    s.good("GET /api/rentals", token=other)


@case("logs nobody in for a page of another site")
def _(s):
    login = {"name": "user5", "password": "password-5"}
    for headers in ({"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {"Referer": "http://elsewhere.example/login"}):
        for path in ("login", "sign-up"):
            answer = s.ask(f"POST /api/{path}", login, headers=headers)
            must(answer.status == 403 and answer.json()["error"]["code"] == "FORBIDDEN", f"{headers}: {answer}")


@case("slows down wrong passwords of an account, and of no other")
def _(s):
    name, password, _ = s.new_user()
    # At once, since a wait is over after a second.
    answers = at_once(16, lambda n: s.ask("POST /api/login", {"name": name, "password": f"wrong password {n}"}))
    late = [answer for answer in answers if answer.status == 429]
    must(late and all(answer.headers["Retry-After"] == "60" and answer.json()["error"]["code"] == "TOO_MANY" for answer in late), [str(one) for one in answers])
    must(sum(answer.status == 401 for answer in answers) <= 12, [str(one) for one in answers])
    s.good("POST /api/login", {"name": "user6", "password": "password-6"})


# Reviews.

@case("takes a review, and shows it first and counted")
def _(s):
    movie, (_, _, token) = 3, s.new_user()
    before = s.page(movie, "?reviews=2")
    title, rating = before["info"]["title"], before["rating"]
    marked = f"{random.getrandbits(48):x}"
    given = {"title": title.upper(), "text": f"  Cafe\u0301 \t\n au\u0007 lait\u202e {marked} ", "stars": 4}
    answer = s.good("POST /api/review", given, token=token)
    must(list(answer) == ["review"] and answer["review"] > 8 * 10**17, answer)
    page = s.page(movie, "?reviews=2")
    first = page["reviews"][0]
    must(first == {"review": answer["review"], "movie": movie, "user": int(token.split(".")[0]), "text": f"Café au lait {marked}", "stars": 4,
                   "time_ms": first["time_ms"]}, first)
    must(abs(first["time_ms"] / 1000 - time.time()) < 120, first)
    must(page["reviews"][1] == before["reviews"][0], "the one before is the second")
    counted = {"count": rating["count"] + 1, "mean": (rating["mean"] * rating["count"] + 4) / (rating["count"] + 1)}
    must(page["rating"]["count"] == counted["count"] and abs(page["rating"]["mean"] - counted["mean"]) < 1e-6, f"{page['rating']}, {counted}")
    second = s.good("POST /api/review", given, token=token)["review"]
    must(second > answer["review"], "numbers grow")


@case("loses no review of many at once")
def _(s):
    movie = 4
    before = s.page(movie, "?reviews=0")
    title = before["info"]["title"]
    tokens = [s.token(user) for user in range(6, 10)]
    answers = at_once(16, lambda at: s.ask("POST /api/review", {"title": title, "text": f"No. {at}", "stars": 7}, token=tokens[at % 4]))
    stored = {answer.json()["review"] for answer in answers if answer.status == 200}
    must(len(stored) == sum(answer.status == 200 for answer in answers) > 0, [str(answer) for answer in answers])
    must({answer.status for answer in answers} <= {200, 503, 504}, [str(answer) for answer in answers])
    page = s.page(movie, "?reviews=30")
    must(stored <= {review["review"] for review in page["reviews"]}, "some that were answered are not there")
    # Each of the four users counts once, and may have before.
    must(0 <= page["rating"]["count"] - before["rating"]["count"] <= len(tokens), page["rating"])


@case("refuses reviews that are none")
def _(s):
    token, good = s.token(), {"title": s.page(1)["info"]["title"], "text": "Good.", "stars": 9}
    s.refuses(401, "POST /api/review", good)
    for stars in (0, 11, "9", 9.5, 9.0, None, True, 10**30):
        s.refuses(400, "POST /api/review", {**good, "stars": stars}, token=token)
    for text in ("", " \t\n\u0007 ", 7):
        s.refuses(400, "POST /api/review", {**good, "text": text}, token=token)
    s.refuses(413, "POST /api/review", {**good, "text": "x" * 8193}, token=token)
    for title in ("", "x" * 257):
        s.refuses(400, "POST /api/review", {**good, "title": title}, token=token)
    s.refuses(404, "POST /api/review", {**good, "title": "There is no such film"}, token=token)
    for left_out in good:
        s.refuses(400, "POST /api/review", {name: value for name, value in good.items() if name != left_out}, token=token)


@case("takes a review of 8192 bytes")
def _(s):
    text = "é" * 4096
    review = s.good("POST /api/review", {"title": s.page(5)["info"]["title"], "text": text, "stars": 10}, token=s.token(2))["review"]
    found = next(one for one in s.page(5, "?reviews=5")["reviews"] if one["review"] == review)
    must(found["text"] == text, "another text")


# Rentals.

@case("rents a film once while it is valid, whichever key asks, and its video is there")
def _(s):
    _, _, token = s.new_user()
    body = {"movie": 1, "key": "one"}
    cents = s.page(1)["video"]["cents"]
    ticket = s.good("POST /api/rent", body, token=token)
    must(sorted(ticket) == ["balance_cents", "cents", "expires_s", "repeated", "url"], ticket)
    must(ticket["cents"] == cents and ticket["balance_cents"] == START - cents and ticket["repeated"] is False, ticket)
    must(abs(ticket["expires_s"] - time.time() - 4 * 3600) < 120, ticket)
    for key in ("one", "two"):
        again = s.good("POST /api/rent", {"movie": 1, "key": key}, token=token)
        must(again == {**ticket, "repeated": True}, again)
    other = s.good("POST /api/rent", {"movie": 2, "key": "one"}, token=token)
    must(other["balance_cents"] == ticket["balance_cents"] - other["cents"] and not other["repeated"], other)
    account = s.good("GET /api/rentals", token=token)
    must(account["balance_cents"] == other["balance_cents"], account)
    must({(one["movie"], one["url"], one["cents"]) for one in account["rentals"]} ==
         {(1, ticket["url"], cents), (2, other["url"], other["cents"])}, account)
    must(s.good("GET /api/rentals?start=1&n=1", token=token)["rentals"] == account["rentals"][1:], "a part of the rentals")
    master = s.ask(f"GET {ticket['url']}")
    must(master.status == 200 and master.body.startswith(b"#EXTM3U"), master)
    variant = next(line for line in master.body.decode().splitlines() if line and not line.startswith("#"))
    must(s.ask(f"GET {ticket['url'].rpartition('/')[0]}/{variant}").status == 200, variant)
    must(s.ask(f"GET {ticket['url'].replace('/hls/', '/hls/A', 1)}").status in (403, 404), "another signature")


@case("charges once where the same film is asked for many times at once, by other keys")
def _(s):
    _, _, token = s.new_user()
    answers = at_once(8, lambda at: s.ask("POST /api/rent", {"movie": 2, "key": f"key {at}"}, token=token))
    good = [answer.json() for answer in answers if answer.status == 200]
    must(good and len({(one["url"], one["balance_cents"]) for one in good}) == 1, [str(answer) for answer in answers])
    must(sum(not one["repeated"] for one in good) <= 1, good)
    must(s.good("GET /api/rentals", token=token)["balance_cents"] == START - good[0]["cents"], good)


@case("charges no more than there is, until more is added")
def _(s):
    _, _, token = s.new_user()
    left, last, movie = START, None, 0
    while last is None:
        movie += 1
        answer = s.ask("POST /api/rent", {"movie": movie, "key": "k"}, token=token)
        if answer.status == 200:
            ticket = answer.json()
            must(ticket["balance_cents"] == left - ticket["cents"], ticket)
            left = ticket["balance_cents"]
        else:
            last = answer
    must(last.status == 402 and last.json()["error"]["code"] == "PAYMENT_REQUIRED", last)
    must(0 <= left < s.page(movie)["video"]["cents"], f"{left} for film {movie}")
    must(s.good("POST /api/rent", {"movie": 1, "key": "k"}, token=token)["repeated"], "what was paid stays")
    for repeated in (False, True):
        added = s.good("POST /api/deposit", {"cents": 500, "key": "more"}, token=token)
        must(added["balance_cents"] == left + 500 and added["repeated"] is repeated, added)
    ticket = s.good("POST /api/rent", {"movie": movie, "key": "k"}, token=token)
    must(ticket["balance_cents"] == left + 500 - ticket["cents"], ticket)


@case("refuses deposits and lists that are none")
def _(s):
    token = s.token()
    s.refuses(401, "GET /api/rentals")
    s.refuses(401, "GET /api/my-reviews")
    s.refuses(401, "POST /api/deposit", {"cents": 500, "key": "k"})
    s.refuses(401, "POST /api/deposit", {"cents": 500, "key": "k"}, cookie=token)
    for cents in (0, 99, -500, 10001, "500", 1.5, None):
        s.refuses(400, "POST /api/deposit", {"cents": cents, "key": "k"}, token=token)
    for query in ("n=0", "n=101", "start=-1"):
        s.refuses(400, f"GET /api/rentals?{query}", token=token)
        s.refuses(400, f"GET /api/my-reviews?{query}", token=token)


@case("shows a user's own reviews, the newest first")
def _(s):
    _, _, token = s.new_user()
    must(s.good("GET /api/my-reviews", token=token) == {"reviews": []}, "a new user has written nothing")
    written = [s.good("POST /api/review", {"title": s.page(movie)["info"]["title"], "text": f"Film {movie}.", "stars": movie}, token=token)["review"]
               for movie in (3, 4)]
    reviews = s.good("GET /api/my-reviews", token=token)["reviews"]
    must([one["review"] for one in reviews] == written[::-1], reviews)
    must([(one["movie"], one["text"], one["stars"]) for one in reviews] == [(4, "Film 4.", 4), (3, "Film 3.", 3)], reviews)
    must(s.good("GET /api/my-reviews?start=1&n=1", token=token)["reviews"] == reviews[1:], "a part of them")


@case("refuses rentals that are none")
def _(s):
    token = s.token()
    s.refuses(401, "POST /api/rent", {"movie": 1, "key": "k"})
    s.refuses(404, "POST /api/rent", {"movie": 999999, "key": "k"}, token=token)
    for movie in (0, -1, "1", 1.5, None, 10**20):
        s.refuses(400, "POST /api/rent", {"movie": movie, "key": "k"}, token=token)
    for key in ("", "x" * 65, 7, None):
        s.refuses(400, "POST /api/rent", {"movie": 1, "key": key}, token=token)


# Addresses.

@case("knows no other address, and says how one is asked")
def _(s):
    for line in ("GET /api/nothing", "GET /api/", "POST /api/x", "GET /api/movie"):
        s.refuses(404, line)
    for line, allowed in (("GET /api/rent", "POST"), ("GET /api/login", "POST"), ("POST /api/search", "GET"), ("DELETE /api/movie/1", "GET"),
                          ("PUT /api/review", "POST")):
        must(s.refuses(405, line).headers["Allow"] == allowed, line)


@case("is ready")
def _(s):
    must(s.good("GET /api/.ready") == {"ready": True}, "/api/.ready")


def warm(site: Site) -> None:
    """A program that has just begun takes its first requests slowly, and so may go without parts."""
    end = time.monotonic() + WARM
    for line in ("GET /api/movie/1", "GET /api/search?q=a", "GET /api/titles?ids=1", "GET /api/movie/2", "GET /api/movie/1"):
        while time.monotonic() < end:
            answer = site.ask(line)
            if answer.status == 200 and not answer.headers["X-Degraded"]:
                break


def wrong_with(url: str, function) -> str:
    """What is wrong by a case."""
    try:
        function(Site(url))
    except Wrong as error:
        return str(error)
    except (OSError, http.client.HTTPException, KeyError, TypeError, ValueError, IndexError, StopIteration, AttributeError) as error:
        return repr(error)
    return ""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("url")
    options.add_argument("--case", default="", metavar="TEXT", help="only cases whose name has this")
    options.add_argument("--json", type=pathlib.Path, metavar="FILE")
    given = options.parse_args()
    results = []
    try:
        warm(Site(given.url))
    except (Wrong, OSError, http.client.HTTPException) as error:
        sys.exit(f"over_http.py: {given.url}: {error!r}")
    for name, function in CASES:
        if given.case not in name:
            continue
        began = time.monotonic()
        why = repeated(lambda: wrong_with(given.url, function), lambda why: print(f"again   {name}: the machine is busy: {why[:300]}", flush=True))
        took = (time.monotonic() - began) * 1000
        results.append({"case": name, "outcome": "failed" if why else "passed", "why": why, "ms": round(took)})
        print(f"{'FAILED ' if why else 'ok     '} {name} ({took:.0f} ms)", *([f"        {why[:1500]}"] if why else []), sep="\n", flush=True)
    if given.json:
        given.json.write_text(json.dumps({"results": results}, indent=1) + "\n")
    failed = sum(one["outcome"] == "failed" for one in results)
    print(f"{len(results) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
