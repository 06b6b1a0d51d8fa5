"""Asks for `stats` and reads the fields that Telegraf's input for memcached sends on; all are integers.

Telegraf leaves out a field that is missing and sends one that is not an integer as text, which a database that has integers
for it refuses. Prints one line for each field. Usage: telegraf_style_reader.py HOST:PORT, or a path
"""

import socket
import sys

FIELDS = """
accepting_conns auth_cmds auth_errors bytes bytes_read bytes_written cas_badval cas_hits cas_misses cmd_flush cmd_get
cmd_meta cmd_set cmd_touch conn_yields connection_structures curr_connections curr_items decr_hits decr_misses
delete_hits delete_misses evicted_active evicted_unfetched evictions expired_unfetched get_expired get_flushed get_hits
get_misses hash_bytes hash_is_expanding hash_power_level incr_hits incr_misses limit_maxbytes listen_disabled_num
max_connections reclaimed rejected_connections store_no_memory store_too_large threads total_connections total_items
touch_hits touch_misses uptime
""".split()

place = sys.argv[1]
if place.startswith("/"):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(30)
    connection.connect(place)
else:
    host, port = place.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=30)
connection.sendall(b"stats\r\n")
values = {}
with connection.makefile("rb") as lines:
    while (line := lines.readline().decode().rstrip("\r\n")) != "END":
        stat, name, value = line.split(" ", 2)
        assert stat == "STAT", line
        values[name] = value
for field in FIELDS:
    value = values.get(field)
    kind = "missing" if value is None else "an integer" if value.removeprefix("-").isdigit() else "text"
    print(f"{field}: {kind}")
