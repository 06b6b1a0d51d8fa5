"""Hit ratios of libCacheSim's policies: simulate.py TRACE BYTES COUNTED NAME...

A line for each policy: how many of the requests from COUNTED on hit. The trace has 12 bytes for each request, the item's
number and its size.
"""

import os
import sys

import libcachesim

trace, memory, counted = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
requests = os.path.getsize(trace) // 12
for name in sys.argv[4:]:
    # The padding of structures is off with '<'; fields are numbered from 1.
    fields = libcachesim.ReaderInitParam(binary_fmt_str="<QI")
    fields.obj_id_field, fields.obj_size_field = 1, 2
    reader = libcachesim.TraceReader(trace, libcachesim.TraceType.BIN_TRACE, fields)
    # Sizes count as they are given, without libCacheSim's own idea of an item's overhead.
    cache = getattr(libcachesim, name)(cache_size=memory, hashpower=20, consider_obj_metadata=False)
    cache.process_trace(reader, 0, counted)
    missed, _ = cache.process_trace(reader, counted, requests - counted)
    print(round((1 - missed) * (requests - counted)), flush=True)
