#pragma once

// cmocka.h needs these before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/** Bytes that are the same in every run. Source: xorshift64, Marsaglia 2003. */
static inline uint8_t random_byte(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (uint8_t)(*state >> 32);
}

/** A copy that ends where its memory ends, so that a sanitizer sees a read beyond it. */
static inline char *exact_copy(const void *bytes, size_t size) { return g_memdup2(bytes, size); }
