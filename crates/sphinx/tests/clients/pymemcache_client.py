"""What pymemcache asks of a server; prints one line for each step. 

Usage: pymemcache_client.py HOST PORT [CA] [--no-stats]. A HOST that is a path is a Unix socket; with CA it speaks TLS.
"""

import ssl
import sys
import time

from pymemcache.client.base import Client

host, port, *more = sys.argv[1:]
stats = "--no-stats" not in more
certificates = [word for word in more if not word.startswith("-")]
tls = None
if certificates:
    tls = ssl.create_default_context(cafile=certificates[0])
    # The certificate is for a name, not for the address.
    tls.check_hostname = False
place = host if host.startswith("/") else (host, int(port))
client = Client(place, timeout=30, default_noreply=False, tls_context=tls)
text = lambda value: "none" if value is None else value.decode()
print("set:", "stored" if client.set("k", "v1", expire=0) else "refused")
print("get:", text(client.get("k")))
print("missing:", text(client.get("none")))
client.set_many({"a": "1", "b": "2"}, noreply=True)
found = client.get_many(["a", "b", "none"])
print("multi:", " ".join(f"{key}={text(found[key])}" for key in sorted(found)))
print("add:", "stored" if client.add("k", "x") else "refused")
print("replace:", "stored" if client.replace("k", "v2") else "refused")
value, unique = client.gets("k")
print("cas:", "stored" if client.cas("k", "v3", unique) else "refused")
print("stale cas:", "stored" if client.cas("k", "v4", unique) else "refused")
client.set("n", "10")
print("incr:", client.incr("n", 5))
print("decr:", client.decr("n", 3))
client.append("k", ">")
client.prepend("k", "<")
print("append:", text(client.get("k")))
print("delete:", "gone" if client.delete("k") and client.get("k") is None else "there")
client.set("t", "x", expire=3600)
print("touch:", "kept" if client.touch("t", 1) else "lost")
client.set("e", "x", expire=1)
until = time.monotonic() + 30
while client.get_many(["e", "t"]) and time.monotonic() < until:
    time.sleep(0.05)
print("expiry:", len(client.get_many(["e", "t"])), "left")
client.set("large", b"v" * 500_000)
print("large:", len(client.get("large")))
binary = bytes(range(256)) + b"\r\nEND\r\n"
client.set("binary", binary)
print("binary:", "same" if client.get("binary") == binary else "other")
# A proxy has no statistics.
assert client.version() and (not stats or client.stats()[b"threads"] >= 1)
print("done")
