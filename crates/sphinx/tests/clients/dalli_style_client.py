"""Speaks meta commands with the flags that Dalli 3.2 and later sends, in its order; prints one line for each step.

Debian's Dalli is older and knows the binary protocol only. Usage: dalli_style_client.py HOST PORT
"""

import base64
import socket
import sys
import time


class Client:
    def __init__(self):
        self.socket = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        # Dalli begins each connection so.
        assert self.ask(b"version\r\n")[0] == b"VERSION"

    def line(self):
        line = self.file.readline()
        assert line.endswith(b"\r\n"), line
        return line[:-2].split(b" ")

    def ask(self, request):
        self.socket.sendall(request)
        return self.line()

    def value(self, words):
        """The value behind a line and its flags by their letters; none for a miss."""
        if words[0] == b"EN":
            return None, {}
        assert words[0] == b"VA", words
        data = self.file.read(int(words[1]) + 2)
        assert data.endswith(b"\r\n")
        return data[:-2], {word[:1]: word[1:] for word in words[2:]}

    def get(self, key, cas=False, flags=b""):
        return self.value(self.ask(b"mg %s v f%s%s\r\n" % (key, b" c" if cas else b"", flags)))

    def set(self, key, data, mode=b"S", ttl=0, cas=None, flags=b"", quiet=False):
        unique = b"" if mode in b"AP" else b" c"
        compare = b"" if cas is None else b" C" + cas
        expires = b"" if mode in b"AP" else b" F0%s T%d" % (compare, ttl)
        quiet = b" q" if quiet else b""
        request = b"ms %s %d%s%s%s M%s%s\r\n%s\r\n" % (key, len(data), unique, flags, expires, mode, quiet, data)
        self.socket.sendall(request)
        if not quiet:
            return {b"HD": "stored", b"NS": "refused", b"EX": "refused"}[self.line()[0]]

    def noop(self):
        """What came before the answer to a no-op, as lines; nothing else may be on its way."""
        self.socket.sendall(b"mn\r\n")
        lines = []
        while (words := self.line()) != [b"MN"]:
            lines.append(words)
        return lines


def text(found):
    return "none" if found[0] is None else found[0].decode()


client = Client()
print("set:", client.set(b"k", b"v1"))
print("get:", text(client.get(b"k")))
print("missing:", text(client.get(b"none")))
client.set(b"a", b"1", quiet=True)
client.set(b"b", b"2", quiet=True)
assert client.noop() == [], "quiet requests that succeed are silent"
client.socket.sendall(b"".join(b"mg %s v f c k q s\r\n" % key for key in [b"a", b"none", b"b"]) + b"mn\r\n")
found = {}
while (words := client.line()) != [b"MN"]:
    data, flags = client.value(words)
    assert int(flags[b"s"]) == len(data) and int(flags[b"c"]) > 0
    found[flags[b"k"].decode()] = data.decode()
print("multi:", " ".join(f"{key}={found[key]}" for key in sorted(found)))
print("add:", client.set(b"k", b"x", mode=b"E"))
print("replace:", client.set(b"k", b"v2", mode=b"R"))
_, flags = client.get(b"k", cas=True)
print("cas:", client.set(b"k", b"v3", cas=flags[b"c"]))
print("stale cas:", client.set(b"k", b"v4", cas=flags[b"c"]))
client.set(b"n", b"10")
print("incr:", client.value(client.ask(b"ma n v D5 MI\r\n"))[0].decode())
print("decr:", client.value(client.ask(b"ma n v D3 MD\r\n"))[0].decode())
assert client.ask(b"ma unborn v D1 MI\r\n")[0] == b"NF"
assert client.value(client.ask(b"ma born v D1 J7 N60 MI\r\n"))[0] == b"7"
client.set(b"k", b">", mode=b"A")
client.set(b"k", b"<", mode=b"P")
print("append:", text(client.get(b"k")))
gone = client.ask(b"md k\r\n")[0] == b"HD" and client.get(b"k")[0] is None
print("delete:", "gone" if gone and client.ask(b"md k\r\n")[0] == b"NF" else "there")
client.set(b"t", b"x", ttl=3600)
print("touch:", "kept" if client.ask(b"mg t T1\r\n")[0] == b"HD" else "lost")
client.set(b"e", b"x", ttl=1)
until = time.monotonic() + 30
left = lambda: sum(client.get(key)[0] is not None for key in [b"e", b"t"])
while left() > 0 and time.monotonic() < until:
    time.sleep(0.05)
print("expiry:", left(), "left")
client.set(b"large", b"v" * 500_000)
print("large:", len(client.get(b"large")[0]))
binary = bytes(range(256)) + b"\r\nEND\r\n"
# Keys that are not plain words travel in base 64.
key = base64.b64encode("Schlüssel mit Leerzeichen".encode())
client.set(key, binary, flags=b" b")
print("binary:", "same" if client.get(key, flags=b" b")[0] == binary else "other")
client.socket.sendall(b"stats\r\n")
stats = []
while (words := client.line()) != [b"END"]:
    stats.append(words[1])
assert b"curr_items" in stats and client.ask(b"flush_all 0\r\n") == [b"OK"]
print("done")
