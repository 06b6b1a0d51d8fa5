"""What redis-py asks of a cache; prints one line for each step. Usage: redis_py_client.py HOST PORT [PROTOCOL]"""

import sys

import redis

host, port, *more = sys.argv[1:]
client = redis.Redis(host, int(port), protocol=int(more[0]) if more else 2, decode_responses=True, client_name="test")
stored = lambda done: "stored" if done else "refused"
print("set:", stored(client.set("k", "v1")))
print("get:", client.get("k"))
print("missing:", client.get("none"))
client.mset({"a": "1", "b": "2"})
print("multi:", client.mget("a", "b", "none"))
print("add:", stored(client.set("k", "x", nx=True)))
print("replace:", stored(client.set("k", "v3", xx=True)))
client.set("n", 10)
print("incr:", client.incrby("n", 5), client.decr("n", 3))
print("append:", client.append("k", ">"), client.get("k"))
print("delete:", client.delete("k", "a", "none"), client.exists("k", "b"))
# A second may end in between.
print("expiry:", client.set("e", "x", ex=100), client.ttl("e") in (99, 100), client.persist("e"), client.ttl("e"))
print("getex:", client.getex("e", ex=50), client.ttl("e") in (49, 50), client.getdel("e"), client.get("e"))
client.set("large", "v" * 500_000)
print("large:", client.strlen("large"), len(client.get("large")))
pipeline = client.pipeline(transaction=False)
for number in range(200):
    pipeline.set(f"p{number}", number).get(f"p{number}")
print("pipeline:", sum(int(value) for value in pipeline.execute()[1::2]))
print("scan:", len(list(client.scan_iter("p*", count=20))))
print("name:", client.client_getname(), client.echo("hi"), client.ping())
print("info:", client.info()["redis_mode"], client.config_get("appendonly"), client.dbsize() > 200)
try:
    client.incr("large")
except redis.ResponseError as error:
    print("error:", error)
print("flush:", client.flushdb(), client.exists("large"))
