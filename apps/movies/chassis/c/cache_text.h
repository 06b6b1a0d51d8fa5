#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

enum cache_answer { CACHE_WHOLE, CACHE_INCOMPLETE, CACHE_BAD };

/** Called for each value; false: the answer is bad. */
typedef bool cache_value(void *context, const char *key, size_t key_size, const char *data, size_t size);

/** Parses a complete answer to a `get`; `used` is its length. Calls `value` only once the answer is complete. */
enum cache_answer cache_parse_values(const char *text, size_t size, cache_value *value, void *context, size_t *used);
/** Reads the answers to `count` questions of `set`. */
enum cache_answer cache_parse_stored(const char *text, size_t size, guint count, size_t *used);
