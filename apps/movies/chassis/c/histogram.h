#pragma once

#include <stdatomic.h>
#include <stdint.h>

/** Units: ns; 18 minutes, and longer ones count as that. */
#define HISTOGRAM_MOST (UINT64_C(1) << 40)
/** 8 for each power of two, 12.5 % wide each, and one for each of the numbers below 8. */
#define HISTOGRAM_BUCKETS (8 * (40 - 2) + 1)

/** How often which duration was, since the start. Any thread may add. */
struct histogram {
  _Atomic int64_t counts[HISTOGRAM_BUCKETS];
};

static inline int histogram_bucket(uint64_t ns) {
  if (ns < 8) return (int)ns;
  if (ns > HISTOGRAM_MOST) ns = HISTOGRAM_MOST;
  const int e = 63 - __builtin_clzll(ns);
  return 8 * (e - 2) + (int)(ns >> (e - 3) & 7);
}

static inline void histogram_add(struct histogram *histogram, int64_t ns) {
  atomic_fetch_add_explicit(&histogram->counts[histogram_bucket((uint64_t)ns)], 1, memory_order_relaxed);
}
