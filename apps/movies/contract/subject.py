"""The service under test with all that is around it: configuration, stores, fakes, processes."""

import itertools
import socket
import subprocess
import time
import tomllib

import children
import records
from fakes import Fakes, Rule
from fastcgi import Fpm
from service import Process
from values import Env, make

SECRET = "5ec7e7" + "0" * 52 + "c0ffee"
STORE_IDS = {"movies": 33, "reviews": 36, "users": 37}
CACHE_IDS = {"movies": 32, "reviews": 34, "users": 35}
CASE_KEYS = {"name", "steps", "parallel", "results", "calls", "degraded", "rows", "cache", "upstream", "after", "restart"}
STEP_KEYS = {"method", "arguments", "result", "fields", "refused", "exception", "deadline_ms", "repeats", "concurrent", "wait_ms",
             "request", "headers", "body", "status", "json", "header"}


class ContractError(Exception):
    """contract.toml is at fault."""


class Subject:
    def __init__(self, world, name: str, contract):
        self.world, self.name, self.idl = world, name, world.idl
        self.entry = world.registry[name]
        self.is_http, self.templates = "idl" not in self.entry, contract.parent
        try:
            self.contract = tomllib.loads(contract.read_text())
        except tomllib.TOMLDecodeError as error:
            raise ContractError(f"{contract}: {error}") from error
        self.service = self.contract.get("service", {})
        self.cases = self.contract.get("case", [])
        self._check()
        self.probe = next(case for case in self.cases if case["name"] == self.contract["probe"])
        self.stores, self.caches = self.entry.get("stores", []), self.entry.get("caches", [])
        self.upstreams = self.entry.get("upstreams", [])
        self.optional = self.service.get("optional", self.entry.get("optional", []))
        self.shards = self.service.get("caches", 2)
        replicas = self.service.get("replicas", {})
        self.fakes = Fakes(self.idl, world.registry, {upstream: replicas.get(upstream, 1) for upstream in self.upstreams})
        self.folder = world.folder / name
        self.folder.mkdir()
        self._number = itertools.count()
        self.main, self.doomed, self.deaf = None, None, None
        # Answers to sampled requests of the main process: (answer, method, calls that the fakes have seen).
        self.traced = []
        self.env = self._env()
        self._write_data()

    def _check(self) -> None:
        names = [case.get("name") for case in self.cases]
        if len(set(names)) != len(names) or None in names:
            raise ContractError("each case needs a name of its own")
        if self.contract.get("probe") not in names:
            raise ContractError(f"`probe` is {self.contract.get('probe')!r}, which is no case")
        for case in self.cases:
            for key in case:
                if key not in CASE_KEYS | STEP_KEYS:
                    raise ContractError(f"case `{case['name']}`: `{key}` is not a key")
            for step in case.get("steps", []):
                for key in step:
                    if key not in STEP_KEYS:
                        raise ContractError(f"case `{case['name']}`: `{key}` is not a key of a step")
        for key in self.contract:
            if key not in {"probe", "service", "files", "rows", "cache", "upstream", "case"}:
                raise ContractError(f"`{key}` is not a key")

    def _env(self) -> Env:
        return Env(SECRET, self.idl.enums)

    def _write_data(self) -> None:
        self.data = self.folder / "data"
        self.data.mkdir()
        for name, value in self.contract.get("files", {}).items():
            data = make(value, self.env)
            (self.data / name).write_bytes(data.encode() if isinstance(data, str) else data)
        prepare = [part.replace("OUT", str(self.world.out)).replace("DATA", str(self.data)) for part in self.service.get("prepare", [])]
        if prepare:
            done = subprocess.run(prepare, capture_output=True, text=True, timeout=60, check=False)
            if done.returncode:
                raise ContractError(f"{' '.join(prepare)}: exit code {done.returncode}: {done.stderr}")

    # Processes.

    def values(self, **changes) -> dict:
        """A configuration, with the `changes`, of which None leaves a key out; FOLDER is where its files go."""
        folder = self.folder / f"{next(self._number)}"
        values = {
            "service": self.name, "id": self.entry["id"], "instance": 0, "listen": f"127.0.0.1:{children.free_port()}",
            "threads": self.service.get("threads", 8), "queue": self.service.get("queue", 64), "spans": folder / "spans",
            "secret": SECRET, "data": self.data if self.contract.get("files") else "",
        }
        for upstream in self.upstreams:
            values[f"upstream.{upstream}"] = self.fakes.addresses(upstream)
        for domain in self.caches:
            values[f"cache.{domain}"] = ",".join(f"127.0.0.1:{one.port}" for one in self.world.caches.servers(domain, self.shards))
        for domain in self.stores:
            values[f"store.{domain}"] = self.world.postgres.address(domain)
        for upstream, ms in self.service.get("deadline_ms", {}).items():
            values[f"call.{upstream}.deadline_ms"] = ms
        if self.optional:
            values["optional"] = ",".join(self.optional)
        values |= changes
        values["FOLDER"] = folder
        return {key: value for key, value in values.items() if value is not None}

    def start(self, wait=True, **changes) -> Process:
        """Errors: RuntimeError where it does not become ready."""
        values = self.values(**changes)
        folder = values.pop("FOLDER")
        values = {key: str(value) for key, value in values.items()}
        program = self.world.out / "bin" / f"movies-{self.name}"
        if self.is_http:
            process = Fpm(program, folder, self.idl, None, values | {"TEMPLATES": str(self.templates)})
        else:
            process = Process(program, folder, self.idl, self.entry["idl"], values)
        if wait:
            try:
                process.wait_ready()
            except RuntimeError:
                process.close()
                raise
        return process

    def restart(self) -> list:
        """A fresh main process; what is wrong with the spans of the one before."""
        wrong = self.check_spans() if self.main else []
        if self.main:
            self.main.close()
            self.main = None
        self.traced = []
        self.fakes.rise_all()
        self.main = self.start()
        return wrong

    def main_or_start(self) -> None:
        if self.main is None or self.main.process.poll() is not None:
            self.restart_after_crash()

    def restart_after_crash(self) -> None:
        """Its spans are lost."""
        if self.main:
            self.main.close()
        self.main, self.traced = None, []
        self.main = self.start()

    def doom(self) -> None:
        """Starts a process that waits for a service that never comes: to be looked at when its time is up."""
        needed = [name for name in self.upstreams if name not in self.optional]
        if needed:
            # Bound, so that no other process can listen there.
            self.deaf = socket.socket()
            self.deaf.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{self.deaf.getsockname()[1]}"
            self.doomed = self.start(wait=False, **{f"upstream.{needed[0]}": address}), needed[0], time.monotonic()

    def close(self) -> None:
        self.fakes.close()
        for one in (self.main, self.doomed and self.doomed[0], self.deaf):
            if one:
                one.close()

    # The state before a case.

    def reset(self, case: dict) -> None:
        self.env = self._env()
        rules = [Rule.of(table) for table in (*case.get("upstream", []), *self.contract.get("upstream", [])) if not table.get("dead")]
        for rule in rules:
            if rule.service not in self.upstreams:
                raise ContractError(f"[[upstream]] `{rule.service}` is not a service that {self.name} calls")
        self.fakes.reset(rules, self.env)
        self.fakes.rise_all()
        for domain in self.stores:
            rows = _merged(self.contract.get("rows", {}).get(domain, {}), case.get("rows", {}).get(domain, {}))
            self.world.postgres.fill(domain, rows, self.env)
        for domain in self.caches:
            entries = self.contract.get("cache", {}).get(domain, {}) | case.get("cache", {}).get(domain, {})
            self.world.caches.fill(domain, self.shards, {key: value for key, value in entries.items() if value is not False}, self.env)
        for table in case.get("upstream", []):
            if table.get("dead"):
                self.fakes.fall(table["service"])

    def keep_traces(self, answers: list) -> None:
        """`answers`: (answer, method)."""
        for answer, method in answers:
            if answer.trace:
                self.traced.append((answer, method, self.fakes.seen({answer.trace.hex()})))

    def check_spans(self) -> list:
        """Of all sampled requests that the main process has answered."""
        file = self.main.folder / "spans"
        expected = len(self.traced)
        read = lambda: records.read(file, self.entry["id"], 0)
        children.until(lambda: sum(span.kind == records.SERVER for span in read()[0]) >= expected, 3, 0.05)
        if not expected and not file.exists():
            return []
        spans, wrong = read()
        known = {answer.trace for answer, *_ in self.traced}
        others = [span for span in spans if span.trace not in known]
        if others:
            wrong.append(f"{len(others)} spans of requests that were not sampled or not sent")
        callees = {self.world.registry[name]["id"] for name in self.upstreams}
        stores = {STORE_IDS[name] for name in self.stores} | {CACHE_IDS[name] for name in self.caches}
        for answer, method, calls in self.traced:
            wrong += records.check_request(spans, answer, calls, self.world.registry, callees, stores, self.name, method)
        return sorted(set(wrong))


def _merged(common: dict, own: dict) -> dict:
    """Rows by table; one of the same id replaces the common one."""
    out = {table: {str(row["id"]): row for row in rows} for table, rows in common.items()}
    for table, rows in own.items():
        out.setdefault(table, {}).update({str(row["id"]): row for row in rows})
    return {table: [row for row in rows.values() if not row.get("GONE")] for table, rows in out.items()}
