#pragma once

#include <time.h>

#include <cstdint>

namespace chassis {

constexpr int64_t kNsPerMs = 1'000'000;

inline int64_t read_clock(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/** CLOCK_MONOTONIC. Units: ns. */
inline int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

/** Processor time of this thread. Units: ns. */
inline int64_t cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

/** Wall clock. Units: ms since 1970. */
inline int64_t wall_ms() { return read_clock(CLOCK_REALTIME) / kNsPerMs; }

}  // namespace chassis
