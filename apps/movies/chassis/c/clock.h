#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)

static inline int64_t read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

/** CLOCK_MONOTONIC. */
static inline int64_t now_ns(void) { return read_clock(CLOCK_MONOTONIC); }
/** Of this thread. */
static inline int64_t cpu_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
static inline int64_t wall_ms(void) { return read_clock(CLOCK_REALTIME) / NS_PER_MS; }

/** Time left until a moment, for ppoll; 0 if it has passed. */
static inline struct timespec left_until(int64_t until_ns) {
  int64_t left = until_ns - now_ns();
  if (left < 0) left = 0;
  return (struct timespec){.tv_sec = left / (1000 * NS_PER_MS), .tv_nsec = left % (1000 * NS_PER_MS)};
}
