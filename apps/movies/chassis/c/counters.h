#pragma once

#include <glib.h>
#include <stdatomic.h>
#include <stdint.h>

/** Since the start. */
struct counters {
  _Atomic int64_t requests, errors, refused, deadline, overloaded, degraded, retries, bad_frames, connections;
  _Atomic int64_t queue_ns, application_ns, cpu_ns;
  /** Of caches: keys found, keys missing, and failed queries. */
  _Atomic int64_t cache_hits, cache_misses, cache_errors;
};

/** Puts one in a table of name to `gint64 *`, which owns both. */
void counters_put(GHashTable *table, const char *name, int64_t value);
void counters_put_all(GHashTable *table, struct counters *counters);
