"""A service that answers HTTP, asked as NGINX does: by FastCGI. Source of the numbers: FastCGI specification 1.0."""

import json
import random
import re
import signal
import socket
import struct
import time
from urllib.parse import urlsplit

import children
import jinja2
import records
import wire
from opens import opens
from service import PATIENCE, START, Answer, Process
from together import together
from values import differences, json_or, make

BEGIN, PARAMS, STDIN, STDOUT, STDERR, END = 1, 4, 5, 6, 7, 3
RESPONDER = 1
RECORD = struct.Struct(">BBHHBx")
# The registry's method for each path of a request.
METHODS = (("GET /api/movie/[1-9][0-9]*", "page"), ("GET /api/search", "search"), ("GET /api/titles", "titles"), ("POST /api/review", "review"),
           ("POST /api/rent", "rent"), ("POST /api/login", "login"), ("POST /api/sign-up", "sign-up"),
           ("GET /api/rentals", "rentals"), ("POST /api/deposit", "deposit"), ("GET /api/my-reviews", "my-reviews"),
           ("POST /api/logout", "logout"))


def method_of(request: str):
    path = request.partition("?")[0]
    return next((name for pattern, name in METHODS if re.fullmatch(pattern, path)), None)


def _record(kind: int, data: bytes) -> bytes:
    return RECORD.pack(1, kind, 1, len(data), 0) + data


def _stream(kind: int, data: bytes) -> bytes:
    parts = [data[at:at + 65535] for at in range(0, len(data), 65535)]
    return b"".join(_record(kind, part) for part in (*parts, b""))


def _size(number: int) -> bytes:
    return bytes([number]) if number < 128 else struct.pack(">I", number | 1 << 31)


def clock(ago=0.0) -> str:
    """What NGINX says of when it handed a request on."""
    ms = int((time.time() - ago) * 1000)
    return f"{ms // 1000}.{ms % 1000:03}"


def request(port: int, line: str, headers: dict, body: bytes, limit: float, handed_on=None):
    """Status, headers with names in small letters, body."""
    method, _, target = line.partition(" ")
    parameters = {
        "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1", "REQUEST_METHOD": method, "REQUEST_URI": target,
        "QUERY_STRING": urlsplit(target).query, "SCRIPT_NAME": "/index.php", "SCRIPT_FILENAME": "/index.php", "DOCUMENT_URI": "/index.php",
        "REMOTE_ADDR": "127.0.0.1", "SERVER_NAME": "localhost", "HANDED_ON": clock() if handed_on is None else handed_on,
        "CONTENT_TYPE": "application/json" if body else "", "CONTENT_LENGTH": str(len(body)) if body else "",
    }
    parameters |= {"HTTP_" + name.upper().replace("-", "_"): value for name, value in headers.items()}
    encoded = b"".join(_size(len(key)) + _size(len(value.encode())) + key.encode() + value.encode() for key, value in parameters.items())
    out = b""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.settimeout(limit)
        connection.sendall(_record(BEGIN, struct.pack(">HB5x", RESPONDER, 0)) + _stream(PARAMS, encoded) + _stream(STDIN, body))
        while True:
            _, kind, _, size, padding = RECORD.unpack(wire.receive(connection, RECORD.size))
            data = wire.receive(connection, size + padding)[:size]
            if kind == STDOUT:
                out += data
            elif kind == END:
                break
    head, found, body = out.partition(b"\r\n\r\n")
    if not found:
        raise wire.Malformed(f"an answer without headers: {out[:200]!r}")
    answered = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in head.decode().split("\r\n"))
    answered = {name.lower(): value for name, value in answered.items()}
    return int(answered.pop("status", "200").split()[0]), answered, body


class Fpm(Process):
    """`php`, with the files that lie beside its configuration."""

    def __init__(self, program, folder, idl, service, values):
        folder.mkdir(parents=True)
        templates = jinja2.Environment(loader=jinja2.FileSystemLoader(str(values.pop("TEMPLATES"))), undefined=jinja2.StrictUndefined)
        settings = {"workers": int(values["threads"]), "backlog": int(values["queue"]), "jit": False}
        for name in ("php-fpm.conf", "php.ini"):
            text = templates.get_template(f"{name}.j2").render(
                settings=settings, settings_line="of the contract tests", own=folder, open_files=1024, address=values["listen"], threads=int(values["threads"]))
            (folder / name).write_text(text)
        super().__init__(program, folder, idl, service, values)

    def _status(self, path: str):
        try:
            return request(self.port, f"GET {path}", {}, b"", PATIENCE)
        except (OSError, wire.Closed):
            return 0, {}, b""

    def wait_ready(self, limit=START) -> None:
        if not children.until(self.is_ready, limit, 0.05):
            raise RuntimeError(f"/api/.ready is not answered 200 within {limit} s: {self._status('/api/.ready')}; standard error: {self.errors()}")

    def is_ready(self) -> bool:
        return self._status("/api/.ready")[0] == 200

    def alive(self) -> bool:
        return self._status("/api/.counters")[0] == 200

    def counters(self) -> dict:
        return json_or(self._status("/api/.counters")[2]) or {}


def ask(subject, process, step: dict, handed_on=None) -> Answer:
    trace, span = random.randbytes(16), random.getrandbits(64) or 1
    headers = {name: "".join(make(value, subject.env)) for name, value in step.get("headers", {}).items()}
    headers["traceparent"] = wire.traceparent(trace, span)
    body = make(step.get("body", ""), subject.env)
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    sent = time.monotonic_ns()
    status, answered, text = request(process.port, step["request"], headers, data, 2 + PATIENCE, handed_on)
    read = time.monotonic_ns()
    return Answer("http", {"status": status, "headers": answered, "text": text}, None, sent, read, 0, 0, trace, span)


def expect(subject, step: dict, answer: Answer) -> list:
    got, text = answer.value, answer.value["text"][:300]
    wrong = [] if got["status"] == step["status"] else [f"expected status {step['status']}, got {got['status']}: {text!r}"]
    if "json" in step:
        value = json_or(got["text"])
        wrong += differences(step["json"], value, subject.env, partial=True) if value is not None else [f"expected JSON, got {text!r}"]
    for name, value in step.get("header", {}).items():
        found = got["headers"].get(name.lower())
        if value is False:
            wrong += [f"header {name}: is there: {found}"] if found is not None else []
        else:
            wrong += differences(value, found, subject.env, f"header {name}")
    return wrong


CASES = []


def case(name: str):
    def keep(function):
        CASES.append((name, function))
        return function
    return keep


def _good(s, answer) -> list:
    return expect(s, s.probe, answer)


@case("is ready when the services that it calls answer ping")
def _(s):
    needed = [name for name in s.upstreams if name not in s.optional]
    s.fakes.silent.add(needed[-1])
    wrong = [f"it is ready while {needed[-1]} does not answer ping"] if s.main.is_ready() else []
    s.fakes.reset(s.fakes.rules, s.env)
    return wrong if children.until(s.main.is_ready, PATIENCE, 0.1) else [*wrong, "it is not ready afterwards"]


@case("serves 32 connections at once")
def _(s):
    answers = together(32, lambda _: ask(s, s.main, s.probe))
    s.keep_traces([(answer, method_of(s.probe["request"])) for answer in answers])
    return [line for answer in answers for line in _good(s, answer)]


@case("counts what it does")
def _(s):
    before = s.main.counters()
    answers = [ask(s, s.main, s.probe) for _ in range(5)]
    s.keep_traces([(answer, method_of(s.probe["request"])) for answer in answers])
    grew = {name: value - before.get(name, 0) for name, value in s.main.counters().items()}
    wrong = [f"`requests` grew by {grew['requests']}; 5 were sent"] if grew["requests"] != 5 else []
    counts = {}
    for call in s.fakes.seen():
        counts[call.service, call.method] = counts.get((call.service, call.method), 0) + 1
    return wrong + [f"`edge.{service}.{method}.calls` grew by {grew.get(f'edge.{service}.{method}.calls')}; {count} were seen"
                    for (service, method), count in counts.items() if grew.get(f"edge.{service}.{method}.calls") != count]


def _late(s, seconds: float):
    """The answer to a probe that the web server handed on so long ago, and the queue in its span. Units: s, ns."""
    answer = ask(s, s.main, s.probe, clock(ago=seconds))
    # So this was the time of sending, except for the fraction that a clock of whole milliseconds omits.
    answer.sent -= int((seconds + 0.01) * 1e9)
    s.keep_traces([(answer, method_of(s.probe["request"]))])

    def look():
        spans, _ = records.read(s.main.folder / "spans", s.entry["id"], 0)
        return [span.stamps[1] - span.stamps[0] for span in spans if span.kind == records.SERVER and span.trace == answer.trace]
    return answer, (children.until(look, PATIENCE, 0.05) or [0])[0]


@case("answers what waited for a process for its whole time, and asks nothing for it")
def _(s):
    before = s.main.counters()
    answer, queue = _late(s, 3)
    wrong = expect(s, {"status": 504, "json": {"error": {"code": "DEADLINE"}}}, answer)
    if s.fakes.seen({answer.trace.hex()}):
        wrong.append("others were asked")
    grew = {name: value - before.get(name, 0) for name, value in s.main.counters().items()}
    if grew["deadline"] != 1 or grew["queue_ns"] < 2.99e9 or queue < 2.99e9:
        wrong.append(f"3 s were waited: `deadline` grew by {grew['deadline']}, `queue_ns` by {grew['queue_ns']}; the queue of the span has {queue} ns")
    return wrong


@case("gives others what is left after the wait for a process")
def _(s):
    answer, queue = _late(s, 1)
    wrong, left = _good(s, answer), [int(call.headers["d"]) for call in s.fakes.seen({answer.trace.hex()})]
    if not left or max(left) > 1001 or queue < 0.99e9:
        wrong.append(f"of 2 s one was waited: others were given {left} ms; the queue of the span has {queue} ns")
    return wrong


@case("asks nothing for what waits behind requests that take their whole time")
def _(s):
    process, number = s.start(threads=1), 6
    try:
        ask(s, process, s.probe)
        s.fakes.reset(s.fakes.rules, s.env)
        for service in s.upstreams:
            s.fakes.faults[service] = ("hang", True)
        answers = together(number, lambda _: ask(s, process, s.probe))
        wrong = [line for answer in answers for line in expect(s, {"status": 504, "json": {"error": {"code": "DEADLINE"}}}, answer)]
        # Requests that came a little after the first have a little time left.
        asked = sum(bool(s.fakes.seen({answer.trace.hex()})) for answer in answers)
        return wrong if asked <= number // 2 else [*wrong, f"with one process, others were asked for {asked} of {number} requests at once that are never answered"]
    finally:
        s.fakes.reset(s.fakes.rules, s.env)
        process.close()


@case("does not believe a clock of the web server that is wrong")
def _(s):
    wrong = []
    for handed_on in (clock(ago=-100), clock(ago=100), "", "x", "1"):
        answer = ask(s, s.main, s.probe, handed_on)
        s.keep_traces([(answer, method_of(s.probe["request"]))])
        wrong += [f"handed on `{handed_on}`: {line}" for line in _good(s, answer)]
    return wrong


@case("stops asking for ads that time out again and again, until they come")
def _(s):
    process = s.start()
    page = {"request": "GET /api/movie/1", "status": 200}
    try:
        return opens(s, "ads", process, lambda: ask(s, process, page), lambda answer: not expect(s, page, answer))
    finally:
        process.close()


@case("writes spans that fit, whatever happened")
def _(s):
    return s.check_spans()


@case("ends on SIGQUIT")
def _(s):
    process = s.start()
    try:
        process.process.send_signal(signal.SIGQUIT)
        code = process.ended(2.5)
        return [] if code == 0 else [f"expected exit code 0 within 2.5 s, got {code}"]
    finally:
        process.close()
