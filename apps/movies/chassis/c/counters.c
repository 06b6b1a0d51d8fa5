#include "counters.h"

void counters_put(GHashTable *table, const char *name, int64_t value) {
  gint64 *kept = g_new(gint64, 1);
  *kept = value;
  g_hash_table_replace(table, g_strdup(name), kept);
}

void counters_put_all(GHashTable *table, struct counters *counters) {
  const struct {
    const char *name;
    _Atomic int64_t *value;
  } all[] = {
      {"requests", &counters->requests},
      {"errors", &counters->errors},
      {"refused", &counters->refused},
      {"deadline", &counters->deadline},
      {"overloaded", &counters->overloaded},
      {"degraded", &counters->degraded},
      {"retries", &counters->retries},
      {"bad_frames", &counters->bad_frames},
      {"connections", &counters->connections},
      {"queue_ns", &counters->queue_ns},
      {"application_ns", &counters->application_ns},
      {"cpu_ns", &counters->cpu_ns},
      {"cache.hits", &counters->cache_hits},
      {"cache.misses", &counters->cache_misses},
      {"cache.errors", &counters->cache_errors},
  };
  for (size_t at = 0; at < G_N_ELEMENTS(all); at++) counters_put(table, all[at].name, *all[at].value);
}
