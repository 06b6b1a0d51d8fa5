#!/usr/bin/python3
"""What the runner knows of services, stores and tables is what the registry and the schema of the data set say: tests/registry.py"""

import pathlib
import re
import sys
import tomllib
import unittest

CONTRACT = pathlib.Path(__file__).resolve().parent.parent
APP = CONTRACT.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(CONTRACT))

import jinja2  # noqa: E402
import stores  # noqa: E402
import subject  # noqa: E402

REGISTRY = tomllib.loads((APP / "app.toml").read_text())
KNOWN = tomllib.loads((CONTRACT / "services.toml").read_text())
ROWS = {row["name"]: row for row in REGISTRY["service"]}


class Registry(unittest.TestCase):
    maxDiff = None

    def test_services(self):
        written = {name: row for name, row in ROWS.items() if "methods" in row}
        self.assertEqual(sorted(KNOWN), sorted(written))
        keys = {"id": "number", "idl": "interface", "methods": "methods", "upstreams": "calls", "optional": "optional", "stores": "stores",
                "caches": "caches"}
        for name, known in KNOWN.items():
            self.assertLessEqual(set(known), set(keys), name)
            self.assertEqual(known, {own: written[name][key] for own, key in keys.items() if key in written[name]}, name)

    def test_numbers_of_stores(self):
        self.assertEqual(subject.STORE_IDS, {store["name"]: ROWS[store["service"]]["number"] for store in REGISTRY["store"]})
        # A cache has the number of the first service that may provide it, even if another one is started.
        self.assertEqual(subject.CACHE_IDS, {cache["name"]: ROWS[cache["services"][0]]["number"] for cache in REGISTRY["cache"]})

    def test_all_passwords_have_one_cost(self):
        args = REGISTRY["data"]["args"]
        self.assertEqual(args[args.index("--hash-cost") + 1], "{{ settings.hash_cost }}")
        templates = jinja2.Environment(loader=jinja2.FileSystemLoader(str(APP)), trim_blocks=True, lstrip_blocks=True)
        told = {}
        for name in ("user", "monolith", "user-auth"):
            text = templates.get_template("service.conf.j2").render(service=name, settings={"hash_cost": 7}, callers=[], calls=[], caches={}, stores={}, threads=1)
            told[name] = re.findall(r"^hash_cost=(.*)$", text, re.MULTILINE)
        self.assertEqual(told, {"user": ["7"], "monolith": ["7"], "user-auth": []})

    def test_tables(self):
        for domain, tables in stores.TABLES.items():
            text = (APP / "data" / "sql" / domain / "schema.sql").read_text()
            made = dict(re.findall(r"^CREATE TABLE (\w+) \(id text PRIMARY KEY(?:, ([^)]*))?\)", text, re.MULTILINE))
            self.assertEqual({table: columns.lower() for table, columns in tables.items()}, {table: more.lower() for table, more in made.items()}, domain)
            self.assertEqual(text.count("CREATE TABLE"), len(made), domain)


if __name__ == "__main__":
    unittest.main()
