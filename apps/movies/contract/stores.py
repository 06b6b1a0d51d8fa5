"""A real PostgreSQL with the tables of the three domains, and real memcached servers."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess

import psycopg2
import psycopg2.extensions
import psycopg2.extras

import children
import vectors
from values import make, special

BIN = pathlib.Path("/usr/lib/postgresql/15/bin")
PORT = 5432
DOC = "doc jsonb not null"
# By database and table: the columns after the primary key `id`.
TABLES = {
    "movies": {"movies": DOC, "plots": DOC, "persons": DOC, "ratings": DOC, "rated": DOC, "titles": DOC, "pictures": "data bytea not null"},
    "reviews": {"reviews": DOC, "movie_reviews": DOC, "listed": ""},
    "users": {"users": DOC, "names": DOC, "charges": DOC, "rentals": DOC, "user_reviews": DOC, "listed": "", "seen": "", "ended": DOC},
}
SETTINGS = {"listen_addresses": "", "fsync": "off", "shared_buffers": "16MB", "max_connections": "400", "port": str(PORT),
            "log_min_messages": "fatal", "autovacuum": "off"}


class Postgres:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder / "postgres"
        self.folder.mkdir()
        user = children.account("postgres")
        if user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        if not (BIN / "initdb").exists():
            children.fatal(f"{BIN}/initdb is not there; apt-get install postgresql-15")
        data = self.folder / "data"
        log = (self.folder / "log").open("w+")
        made = children.start([BIN / "initdb", "-D", data, "-U", "runner", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"],
                              user=user, stdout=log, stderr=log, cwd="/")
        if made.wait() != 0:
            children.fatal(f"initdb failed: {(self.folder / 'log').read_text()}")
        options = [part for key, value in SETTINGS.items() for part in ("-c", f"{key}={value}")]
        # SIGQUIT ends its processes and its shared memory at once.
        self.process = children.start([BIN / "postgres", "-D", data, "-k", self.folder, *options], death=signal.SIGQUIT, user=user,
                                      stdout=log, stderr=log, cwd="/")
        self.admin = {}
        if not children.until(lambda: self._connects(), 20):
            children.fatal(f"PostgreSQL does not start: {(self.folder / 'log').read_text()}")
        admin = self._connect("postgres")
        admin.autocommit = True
        with admin.cursor() as cursor:
            for name in TABLES:
                cursor.execute(f"create role {name} login")
                cursor.execute(f"create database {name} owner {name}")
        admin.close()
        for name, tables in TABLES.items():
            self.admin[name] = self._connect(name)
            self.admin[name].autocommit = True
            with self.admin[name].cursor() as cursor:
                cursor.execute(f"set role {name}")
                for table, more in tables.items():
                    cursor.execute(f"create table {table} (id text primary key{', ' if more else ''}{more})")
                if name == "users":
                    cursor.execute("create sequence user_ids")
                cursor.execute("reset role")

    def _connect(self, name: str):
        return psycopg2.connect(dbname=name, user="runner", host=str(self.folder), port=PORT)

    def _connects(self) -> bool:
        try:
            self._connect("postgres").close()
            return True
        except psycopg2.OperationalError:
            return False

    def address(self, name: str) -> str:
        return f"postgresql://{name}@/{name}?host={self.folder}&port={PORT}"

    def fill(self, name: str, rows: dict, env) -> None:
        """Exactly these rows."""
        for table in rows:
            if table not in TABLES[name]:
                raise ValueError(f"rows.{name}: there is no table `{table}`")
        with self.admin[name].cursor() as cursor:
            cursor.execute("set lock_timeout = '5s'")
            # delete, which waits for no reader, in place of truncate
            for table in TABLES[name]:
                cursor.execute(f"delete from {table}")
                for row in rows.get(table, ()):
                    row = {key: make(value, env) for key, value in row.items()}
                    columns = ", ".join(row)
                    cursor.execute(f"insert into {table} ({columns}) values ({', '.join(['%s'] * len(row))})",
                                   [_column(key, value) for key, value in row.items()])
            if name == "users":
                cursor.execute("select setval('user_ids', coalesce((select max(id::bigint) from users where id ~ '^[0-9]+$'), 0) + 1, false)")

    def row(self, name: str, table: str, key: str):
        with self.admin[name].cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
            cursor.execute(f"select * from {table} where id = %s", [key])
            found = cursor.fetchone()
        return found and {column: bytes(value) if isinstance(value, memoryview) else value for column, value in found.items()}

    def keys(self, name: str, table: str) -> list:
        with self.admin[name].cursor() as cursor:
            cursor.execute(f"select id from {table}")
            return [row[0] for row in cursor.fetchall()]

    def lock(self, name: str):
        """A connection that keeps every access to the tables waiting until it is closed."""
        connection = self._connect(name)
        with connection.cursor() as cursor:
            cursor.execute("set lock_timeout = '5s'")
            cursor.execute(f"lock table {', '.join(TABLES[name])} in access exclusive mode")
        return connection

    def waits(self, name: str) -> bool:
        """Whether a service waits for a lock."""
        with self.admin[name].cursor() as cursor:
            cursor.execute("select 1 from pg_stat_activity where usename = %s and wait_event_type = 'Lock'", [name])
            return cursor.fetchone() is not None

    def disconnect(self, name: str) -> None:
        """Ends the connections of the services."""
        with self.admin[name].cursor() as cursor:
            cursor.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = %s", [name])

    def close(self) -> None:
        for connection in self.admin.values():
            connection.close()
        children.end(self.process, signal.SIGINT)


def _column(key, value):
    if key == "doc":
        return json.dumps(value)
    if key == "data":
        return psycopg2.Binary(value.encode() if isinstance(value, str) else value)
    return str(value)


class Memcached:
    """One server. It can be ended and started again on its port."""

    def __init__(self):
        self.port = children.free_port()
        self.start()

    def start(self) -> None:
        self.process = children.start(["memcached", "-l", "127.0.0.1", "-p", str(self.port), "-U", "0", "-m", "16", "-t", "1"],
                                      user=children.account("memcache"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        if not children.until(self._answers, 10):
            children.fatal(f"memcached does not start on port {self.port}")

    def _answers(self) -> bool:
        try:
            return self.ask(b"version\r\n").startswith(b"VERSION")
        except OSError:
            return False

    def ask(self, request: bytes, end=b"\r\n") -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(request)
            data = b""
            while not data.endswith(end):
                got = connection.recv(2**20)
                if not got:
                    break
                data += got
            return data

    def set(self, key: str, value: bytes) -> None:
        if not self.ask(f"set {key} 0 3600 {len(value)}\r\n".encode() + value + b"\r\n").startswith(b"STORED"):
            raise OSError(f"memcached did not store {key}")

    def get(self, key: str):
        data = self.ask(f"get {key}\r\n".encode(), b"END\r\n")
        found = re.match(rb"VALUE \S+ \d+ (\d+)\r\n", data)
        return data[found.end():found.end() + int(found[1])] if found else None

    def end(self) -> None:
        children.end(self.process, signal.SIGKILL)


class Caches:
    """The shards of the domains."""

    def __init__(self):
        self._servers = {}

    def servers(self, domain: str, shards: int) -> list:
        servers = self._servers.setdefault(domain, [])
        while len(servers) < shards:
            servers.append(Memcached())
        return servers[:shards]

    def fill(self, domain: str, shards: int, entries: dict, env) -> None:
        """Exactly these."""
        servers = self.servers(domain, shards)
        for server in servers:
            server.ask(b"flush_all\r\n")
        for key, value in entries.items():
            data = make(value, env)
            if special(value)[0] is None and not isinstance(value, str):
                data = json.dumps(data)
            servers[vectors.jump(vectors.fnv1a64(key.encode()), shards)].set(key, data.encode() if isinstance(data, str) else data)

    def get(self, domain: str, shards: int, key: str):
        """Errors: ValueError, where it is in another shard than it should be."""
        servers = self.servers(domain, shards)
        right = vectors.jump(vectors.fnv1a64(key.encode()), shards)
        found = {at: value for at, server in enumerate(servers) if (value := server.get(key)) is not None}
        if set(found) - {right}:
            raise ValueError(f"{key} is in shard {sorted(found)}, its hash says {right} of {shards}")
        return found.get(right)

    def close(self) -> None:
        for servers in self._servers.values():
            for server in servers:
                server.end()
