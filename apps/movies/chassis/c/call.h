#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <thrift/c_glib/thrift_struct.h>

#include "config.h"
#include "histogram.h"
#include "pool.h"
#include "request.h"

/** One method of another service that this one calls: a pool of connections to each of its instances. */
struct edge {
  char *callee, *method;
  uint16_t callee_id, method_place;
  bool is_idempotent;
  struct pool *pools;
  uint32_t pool_count;
  /** Limit of each call, if shorter than the request's remaining time; 0: none. */
  int limit_ms;
  _Atomic uint32_t turn;
  /** Retry budget. Units: tenths of a retry. */
  _Atomic int budget;
  _Atomic int64_t calls, errors, ns;
  /** Of all calls: time seen here, and the callee's times from its answers. */
  struct histogram wall, queue, application, cpu;
};

/** False if the configuration or the registry lacks the callee or method. */
bool edge_open(struct edge *edge, const struct config *config, const char *callee, const char *method, struct failure *failure);
void edge_close(struct edge *edge);
void edge_count(GHashTable *table, struct edge *edge);

/** The hash by which the instance for a number is chosen: of its decimal text. */
uint64_t hash_of_number(int64_t number);

/**
 * Sends the argument structure and reads the result structure. `hash`: calls of the same hash go to the same instance; NULL:
 * instances take turns. Uses the codec of the request.
 */
bool call(const struct request *request, struct edge *edge, const uint64_t *hash, ThriftStruct *arguments, ThriftStruct *result,
          struct failure *failure);
