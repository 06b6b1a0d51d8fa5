#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "failure.h"
#include "inbox.h"

/** Connections to one instance at most. Source: the contract of the application. */
#define POOL_LIMIT 8

struct connection {
  int descriptor;
  struct inbox inbox;
  /** Of the last request. */
  uint32_t sequence;
};

/** Connections to one instance of a service or of a cache, made when they are needed. */
struct pool {
  const struct address *address;
  pthread_mutex_t mutex;
  pthread_cond_t freed;
  struct connection *idle[POOL_LIMIT];
  int idle_count, made;
};

void pool_init(struct pool *pool, const struct address *address);
void pool_close(struct pool *pool);

/**
 * A connection that belongs to the caller until `pool_give`. It waits for one until `until_ns`, but at most 1 s. A caller
 * that holds several takes them in the order of their addresses, so that no two callers wait for each other. NULL and a
 * failure if there is none.
 */
struct connection *pool_take(struct pool *pool, int64_t until_ns, struct failure *failure);
/** `keep`: no request is outstanding on it. Otherwise it is closed. */
void pool_give(struct pool *pool, struct connection *connection, bool keep);
/** Closes it, and the idle ones, which are of the same age or older. */
void pool_lose(struct pool *pool, struct connection *connection);
