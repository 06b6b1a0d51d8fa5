"""The data set in a PostgreSQL of the application's configuration, and what its services rely on there."""

import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from . import made

from maker import checks

try:
    import jinja2
except ImportError:
    jinja2 = None

BIN = Path("/usr/lib/postgresql/15/bin")
TEMPLATES = made.HERE.parent / "services/database"
INCREMENT = "UPDATE ratings SET doc = jsonb_set(doc, '{count}', to_jsonb((doc ->> 'count')::bigint + 1)) WHERE id = '1';"
PAY = """\\set cents random(1, 500)
UPDATE users SET doc = jsonb_set(doc, '{balance_cents}', to_jsonb((doc ->> 'balance_cents')::bigint - :cents))
WHERE id = '1' AND (doc ->> 'balance_cents')::bigint >= :cents;
"""


@unittest.skipUnless((BIN / "postgres").exists(), "PostgreSQL is missing: apt-get install postgresql-15")
@unittest.skipUnless(jinja2, "jinja2 is missing: apt-get install python3-jinja2")
class Loaded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.own = Path(tempfile.mkdtemp(prefix="movies-pg-", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.own, ignore_errors=True)
        # PostgreSQL refuses to run as root.
        cls.account = {"user": "nobody"} if os.getuid() == 0 else {}
        if cls.account:
            os.chown(cls.own, pwd.getpwnam("nobody").pw_uid, -1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            cls.port = free.getsockname()[1]
        seen = {
            "own": str(cls.own),
            "ip": "127.0.0.1",
            "port": cls.port,
            "connections": 16,
            "memory": 128 << 20,
            "settings": {"durable": True},
            "settings_line": "",
            "in_cluster": False,
        }
        jinja = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)
        for name in ("postgresql.conf", "pg_hba.conf"):
            (cls.own / name).write_text(jinja.from_string((TEMPLATES / f"{name}.j2").read_text()).render(seen))
        data = f"--pgdata={cls.own}/data"
        prepare = [
            BIN / "initdb",
            data,
            "--username=postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ]
        subprocess.run(prepare, check=True, capture_output=True, cwd=cls.own, **cls.account)
        cls.log = (cls.own / "log").open("w")
        cls.addClassCleanup(cls.log.close)
        command = [BIN / "postgres", "-D", cls.own / "data", "-c", f"config_file={cls.own}/postgresql.conf"]
        cls.server = subprocess.Popen(command, stderr=cls.log, cwd=cls.own, **cls.account)
        cls.addClassCleanup(cls.stop)
        end = time.monotonic() + 60
        while "ready to accept connections" not in (cls.own / "log").read_text():
            assert cls.server.poll() is None and time.monotonic() < end, (cls.own / "log").read_text()
            time.sleep(0.05)
        cls.out, cls.loaded = made.small(), {}
        for name in ("movies", "reviews", "users"):
            cls.sql("postgres", "postgres", "-c", f"CREATE ROLE {name} LOGIN", "-c", f"CREATE DATABASE {name} OWNER {name}")
            cls.sql(name, name, "-v", f"folder={cls.out / name}", "-f", str(cls.out / name / "load.sql"))
            cls.loaded[name] = cls.sql(name, name, "-f", str(cls.out / name / "check.sql"))

    @classmethod
    def stop(cls):
        cls.server.send_signal(2)
        cls.server.wait(60)

    @classmethod
    def psql(cls, role: str, database: str, *args: str, host: str | None = None) -> subprocess.CompletedProcess:
        where = ["-h", host or str(cls.own), "-p", str(cls.port), "-U", role, "-d", database]
        return subprocess.run(["psql", "-XAtqw", "-v", "ON_ERROR_STOP=1", *where, *args], capture_output=True, text=True)

    @classmethod
    def sql(cls, role: str, database: str, *args: str) -> str:
        ended = cls.psql(role, database, *args)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def bench(self, role: str, script: str, each: int) -> None:
        """Eight connections that do so many transactions each."""
        path = self.own / "script.sql"
        path.write_text(script)
        where = ["-h", str(self.own), "-p", str(self.port), "-U", role]
        command = [BIN / "pgbench", "-n", "-c", "8", "-j", "2", "-t", str(each), "-f", path, *where, role]
        ended = subprocess.run(command, capture_output=True, text=True)
        self.assertIn(f"processed: {8 * each}/{8 * each}", ended.stdout, ended.stderr)

    def test_all_rows_are_there(self):
        for name in ("movies", "reviews", "users"):
            found = dict(line.split("|")[:2] for line in self.loaded[name].splitlines())
            rows = {path.stem: str(sum(1 for _ in checks.read(path))) for path in (self.out / name).glob("*.tsv")}
            self.assertEqual(found, rows)

    def test_a_check_tells_a_change(self):
        def check():
            return self.sql("reviews", "reviews", "-f", str(self.out / "reviews/check.sql"))

        before = check()
        self.assertEqual(check(), before)
        self.sql("reviews", "reviews", "-c", "UPDATE reviews SET doc = jsonb_set(doc, '{stars}', '3.5') WHERE id = '7'")
        self.assertNotEqual(check(), before)

    def test_values_come_back(self):
        film = json.loads(self.sql("movies", "movies", "-c", "SELECT doc FROM movies WHERE id = '1'"))
        self.assertEqual(film["title"], "The Shawshank Redemption")
        head = self.sql("movies", "movies", "-c", "SELECT encode(substr(data, 1, 3), 'hex') FROM pictures WHERE id = 't:1'")
        self.assertEqual(head, "ffd8ff")

    def test_each_increment_counts(self):
        count = "SELECT doc ->> 'count' FROM ratings WHERE id = '1'"
        before = int(self.sql("movies", "movies", "-c", count))
        self.bench("movies", INCREMENT, 1000)
        self.assertEqual(int(self.sql("movies", "movies", "-c", count)), before + 8000)

    def test_no_balance_is_negative(self):
        little = "UPDATE users SET doc = jsonb_set(doc, '{balance_cents}', '100000') WHERE id = '1'"
        self.sql("users", "users", "-c", little)
        self.bench("users", PAY, 200)
        left = int(self.sql("users", "users", "-c", "SELECT doc ->> 'balance_cents' FROM users WHERE id = '1'"))
        # 1600 charges of 250 cents are four times the initial balance.
        self.assertTrue(0 <= left < 500, left)
        ended = self.psql(
            "users", "users", "-c", "UPDATE users SET doc = jsonb_set(doc, '{balance_cents}', '-1') WHERE id = '2'"
        )
        self.assertIn("balance", ended.stderr)

    def test_a_duplicate_is_refused(self):
        ended = self.psql("users", "users", "-c", "INSERT INTO names VALUES ('user1', '{}')")
        self.assertIn("duplicate key", ended.stderr)
        insert = "INSERT INTO charges VALUES ('1:a', '{}') ON CONFLICT DO NOTHING RETURNING id"
        self.assertEqual(self.sql("users", "users", "-c", insert), "1:a")
        self.assertEqual(self.sql("users", "users", "-c", insert), "")

    def test_new_users_follow(self):
        self.assertEqual(self.sql("users", "users", "-c", "SELECT nextval('user_ids')"), "201")

    def test_who_is_let_in_by_the_network(self):
        def check(role, database):
            return self.psql(role, database, "-c", "SELECT 1", host="127.0.0.1").returncode

        self.assertEqual(check("movies", "movies"), 0)
        self.assertNotEqual(check("movies", "users"), 0)
        self.assertNotEqual(check("postgres", "postgres"), 0)

    def test_the_configuration_is_that_of_the_template(self):
        def shown(name):
            return self.sql("postgres", "postgres", "-c", f"SHOW {name}")

        self.assertEqual((shown("shared_buffers"), shown("fsync"), shown("synchronous_commit")), ("64MB", "on", "on"))
        self.assertEqual(self.sql("postgres", "postgres", "-c", "SELECT count(*) FROM pg_settings WHERE pending_restart"), "0")
        self.assertNotRegex((self.own / "log").read_text(), "(WARNING|FATAL):  (unrecognized|invalid)")
