#pragma once

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

#include "config.h"
#include "request.h"

struct session;

/** One database, with the sessions that are idle. */
struct database {
  const char *uri;
  pthread_mutex_t mutex;
  struct session *idle;
};

/**
 * One column of a table by key, in one database or, by the jump hash of the key, in several. A thread sends one query at a
 * time, so there are at most as many sessions as threads.
 */
struct store {
  char *name, *get, *get_many;
  uint16_t id;
  struct database *databases;
  uint32_t count;
};

/** `table` and `column` are constants of the program, never outside input. */
bool store_open(struct store *store, const struct config *config, const char *domain, const char *table, const char *column,
                struct failure *failure);
void store_close(struct store *store);

/**
 * Puts each document found into `values`, at the index of its id, unless that is set; sends one query to each database.
 * Errors: unavailable, deadline.
 */
bool store_get(const struct request *request, struct store *store, char *const *ids, GByteArray **values, guint count,
               struct failure *failure);
