"""What pymemcache reads of each group of statistics, and whether the limit of memory can be changed to 32 MiB.

Prints one line for each name. Usage: pymemcache_admin.py HOST PORT
"""

import sys

from pymemcache.client.base import Client
from pymemcache.exceptions import MemcacheUnknownError

client = Client((sys.argv[1], int(sys.argv[2])), timeout=30, default_noreply=False)
for group in [(), ("settings",), ("items",), ("slabs",), ("sizes",)]:
    for name in client.stats(*group):
        print(name.decode())
# A connection has a number of its own on each server.
print("conns:", "some" if client.stats("conns") else "none")
try:
    client.cache_memlimit(32)
    print("cache_memlimit_is_taken")
except MemcacheUnknownError as error:
    print("cache_memlimit_is_refused", error)
