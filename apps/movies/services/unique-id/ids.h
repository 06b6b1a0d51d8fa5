#pragma once

#include <stdint.h>

/** Instances that have numbers of their own. */
#define IDS_INSTANCES 1024

/**
 * Numbers that never repeat: `ms since 2020-01-01 << 22 | instance << 12 | counter`. Each is above the one before,
 * for any change of the wall clock: if it stops or goes back, or after 4096 numbers in a millisecond, they continue from the last
 * one.
 */
struct ids {
  uint64_t instance;
  /** The last number without its instance: ms << 12 | counter. Of all threads; not `_Atomic`, as the tests are in C++. */
  uint64_t last;
};

/** Waits for the next millisecond: one that ended just now may have made numbers in this one. */
void ids_begin(struct ids *ids, uint16_t instance);
int64_t ids_next(struct ids *ids);
/** The same at a moment of the wall clock. Units: ms since 1970. */
int64_t ids_next_at(struct ids *ids, int64_t wall_ms);
