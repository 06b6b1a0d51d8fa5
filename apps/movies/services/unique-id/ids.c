#include "ids.h"

#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/** 2020-01-01T00:00:00Z. Units: ms since 1970. */
#define EPOCH_MS INT64_C(1577836800000)
#define COUNTER_BITS 12
#define INSTANCE_BITS 10

/** Units: ms since 1970. */
static int64_t wall_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void ids_begin(struct ids *ids, uint16_t instance) {
  ids->instance = instance;
  ids->last = 0;
  int64_t start = wall_ms();
  while (wall_ms() == start) usleep(100);
}

int64_t ids_next(struct ids *ids) { return ids_next_at(ids, wall_ms()); }

int64_t ids_next_at(struct ids *ids, int64_t wall) {
  uint64_t now = wall > EPOCH_MS ? (uint64_t)(wall - EPOCH_MS) << COUNTER_BITS : 0;
  uint64_t last = __atomic_load_n(&ids->last, __ATOMIC_RELAXED), next;
  do {
    next = now > last ? now : last + 1;
  } while (!__atomic_compare_exchange_n(&ids->last, &last, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  uint64_t ms = next >> COUNTER_BITS, counter = next & ((1u << COUNTER_BITS) - 1);
  return (int64_t)(ms << (INSTANCE_BITS + COUNTER_BITS) | ids->instance << COUNTER_BITS | counter);
}
