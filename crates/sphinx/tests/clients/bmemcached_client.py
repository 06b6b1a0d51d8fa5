"""What python-binary-memcached asks of a server; prints one line for each step. Usage: bmemcached_client.py PLACE [USER PASSWORD]"""

import sys
import time

import bmemcached

place, *words = sys.argv[1:]
user, password = words if words else (None, None)
client = bmemcached.Client((place,), user, password, socket_timeout=60)
text = lambda value: "none" if value is None else value
stored = lambda yes: "stored" if yes else "refused"
try:
    print("set:", stored(client.set("k", "v1")))
except Exception as error:
    sys.exit(f"failed: {type(error).__name__}")
print("get:", text(client.get("k")))
print("missing:", text(client.get("none")))
client.set_multi({"a": "1", "b": "2"})
found = client.get_multi(["a", "b", "none"])
print("multi:", " ".join(f"{key}={found[key]}" for key in sorted(found)))
print("add:", stored(client.add("k", "x")))
print("replace:", stored(client.replace("k", "v2")))
value, unique = client.gets("k")
print("cas:", stored(client.cas("k", "v3", unique)))
print("stale cas:", stored(client.cas("k", "v4", unique)))
print("incr:", client.incr("n", 5, default=15))
client.incr("n", 0)
print("decr:", client.decr("n", 3))
print("delete:", "gone" if client.delete("k") and client.get("k") is None else "there")
client.set("e", "x", time=1)
until = time.monotonic() + 30
while client.get_multi(["e"]) and time.monotonic() < until:
    time.sleep(0.05)
print("expiry:", len(client.get_multi(["e"])), "left")
client.set("large", b"v" * 500_000)
print("large:", len(client.get("large")))
binary = bytes(range(256)) + b"\r\nEND\r\n"
client.set("binary", binary)
print("binary:", "same" if client.get("binary") == binary else "other")
assert all(stats for stats in client.stats().values())
print("done")
client.disconnect_all()
