#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Reads numbers from bytes; after the end each read fails, and gives 0. */
struct cursor {
  const unsigned char *at, *end;
  bool failed;
};

static inline struct cursor cursor_on(const char *data, size_t size) {
  const unsigned char *begin = (const unsigned char *)data;
  return (struct cursor){begin, begin + size, false};
}

static inline size_t cursor_left(const struct cursor *cursor) { return (size_t)(cursor->end - cursor->at); }

/** The next `size` bytes; NULL if there are fewer. */
static inline const unsigned char *cursor_take(struct cursor *cursor, size_t size) {
  if (cursor->failed || size > cursor_left(cursor)) {
    cursor->failed = true;
    return NULL;
  }
  cursor->at += size;
  return cursor->at - size;
}

static inline uint64_t cursor_number(struct cursor *cursor, size_t size) {
  const unsigned char *bytes = cursor_take(cursor, size);
  uint64_t value = 0;
  for (size_t at = 0; bytes && at < size; at++) value = value << 8 | bytes[at];
  return value;
}

static inline uint32_t cursor_varint(struct cursor *cursor) {
  uint32_t value = 0;
  // A number of 32 bits has at most 5 bytes.
  for (int shift = 0; shift < 35; shift += 7) {
    uint32_t byte = (uint32_t)cursor_number(cursor, 1);
    if (cursor->failed) return 0;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  cursor->failed = true;
  return 0;
}
