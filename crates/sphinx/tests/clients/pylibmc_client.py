"""What pylibmc, and so libmemcached, asks of a server; prints one line for each step. Usage: pylibmc_client.py HOST PORT, or a path and 0, [binary]"""

import sys
import time

import pylibmc

place = sys.argv[1] if sys.argv[1].startswith("/") else ":".join(sys.argv[1:3])
client = pylibmc.Client([place], binary=sys.argv[3:] == ["binary"], behaviors={"cas": True, "tcp_nodelay": True})
text = lambda value: "none" if value is None else value
print("set:", "stored" if client.set("k", "v1") else "refused")
print("get:", text(client.get("k")))
print("missing:", text(client.get("none")))
client.set_multi({"a": "1", "b": "2"})
found = client.get_multi(["a", "b", "none"])
print("multi:", " ".join(f"{key}={found[key]}" for key in sorted(found)))
print("add:", "stored" if client.add("k", "x") else "refused")
print("replace:", "stored" if client.replace("k", "v2") else "refused")
value, unique = client.gets("k")
print("cas:", "stored" if client.cas("k", "v3", unique) else "refused")
print("stale cas:", "stored" if client.cas("k", "v4", unique) else "refused")
client.set("n", 10)
print("incr:", client.incr("n", 5))
print("decr:", client.decr("n", 3))
client.append("k", ">")
client.prepend("k", "<")
print("append:", text(client.get("k")))
print("delete:", "gone" if client.delete("k") and client.get("k") is None else "there")
client.set("t", "x", time=3600)
print("touch:", "kept" if client.touch("t", 1) else "lost")
client.set("e", "x", time=1)
until = time.monotonic() + 30
while client.get_multi(["e", "t"]) and time.monotonic() < until:
    time.sleep(0.05)
print("expiry:", len(client.get_multi(["e", "t"])), "left")
client.set("large", b"v" * 500_000)
print("large:", len(client.get("large")))
binary = bytes(range(256)) + b"\r\nEND\r\n"
client.set("binary", binary)
print("binary:", "same" if client.get("binary") == binary else "other")
assert len(client.get_stats()) == 1
print("done")
