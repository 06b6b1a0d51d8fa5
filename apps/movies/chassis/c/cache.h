#pragma once

#include <glib.h>
#include <stdbool.h>

#include "config.h"
#include "pool.h"
#include "request.h"

/**
 * The memcached servers of a domain, asked by the classic text protocol. A client of one's own, as libmemcached has another
 * distribution of keys, and no limit on the time of a question as a whole.
 *
 * A cache that fails is one that has nothing: it is counted, and no error.
 */
struct cache {
  uint16_t id;
  struct pool *shards;
  uint32_t count;
};

/** Source: memcached's doc/protocol.txt. */
#define CACHE_KEY_LIMIT 250

bool cache_open(struct cache *cache, const struct config *config, const char *domain, struct failure *failure);
void cache_close(struct cache *cache);

/** Puts each value found in `values`, at the index of its key; the others stay NULL. Sends one request to each shard, all at once. */
void cache_get(const struct request *request, struct cache *cache, char *const *keys, GByteArray **values, guint count);
/** Stores the values that are not NULL for `seconds`. */
void cache_set(const struct request *request, struct cache *cache, char *const *keys, GByteArray *const *values, guint count,
               int seconds);
