#include "pool.h"

#include <glib.h>
#include <unistd.h>

#include "clock.h"
#include "socket.h"

/** Source: the contract of the application. */
#define LONGEST_WAIT_NS (1000 * NS_PER_MS)

void pool_init(struct pool *pool, const struct address *address) {
  *pool = (struct pool){.address = address};
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->freed, &clock);
  pthread_condattr_destroy(&clock);
}

static void connection_free(struct connection *connection) {
  if (connection->descriptor >= 0) close(connection->descriptor);
  inbox_free(&connection->inbox);
  g_free(connection);
}

void pool_close(struct pool *pool) {
  while (pool->idle_count > 0) connection_free(pool->idle[--pool->idle_count]);
  pthread_cond_destroy(&pool->freed);
  pthread_mutex_destroy(&pool->mutex);
}

/** An idle one, or one that is to be connected still. */
static struct connection *take_place(struct pool *pool, int64_t until_ns, struct failure *failure) {
  int64_t end = MIN(until_ns, now_ns() + LONGEST_WAIT_NS);
  struct timespec end_time = {.tv_sec = end / (1000 * NS_PER_MS), .tv_nsec = end % (1000 * NS_PER_MS)};
  struct connection *connection = NULL;
  pthread_mutex_lock(&pool->mutex);
  while (pool->idle_count == 0 && pool->made >= POOL_LIMIT) {
    if (pthread_cond_timedwait(&pool->freed, &pool->mutex, &end_time) != 0) break;
  }
  if (pool->idle_count > 0) {
    // The last one that was used is the likeliest to be in the processor's cache.
    connection = pool->idle[--pool->idle_count];
  } else if (pool->made < POOL_LIMIT) {
    pool->made++;
    connection = g_new0(struct connection, 1);
    connection->descriptor = -1;
  }
  pthread_mutex_unlock(&pool->mutex);
  if (connection) return connection;
  const char *what = "%s: all %d connections stay in use";
  if (end == until_ns) {
    fail_deadline(failure, what, pool->address->text, POOL_LIMIT);
  } else {
    fail_unavailable(failure, what, pool->address->text, POOL_LIMIT);
  }
  return NULL;
}

struct connection *pool_take(struct pool *pool, int64_t until_ns, struct failure *failure) {
  for (;;) {
    struct connection *connection = take_place(pool, until_ns, failure);
    if (!connection) return NULL;
    if (connection->descriptor < 0) {
      connection->descriptor = socket_connect(pool->address, until_ns, failure);
      if (connection->descriptor >= 0) return connection;
      pool_give(pool, connection, false);
      return NULL;
    }
    // An idle connection expects no data, so a readable one has been closed.
    if (!socket_is_readable(connection->descriptor)) return connection;
    pool_give(pool, connection, false);
  }
}

void pool_give(struct pool *pool, struct connection *connection, bool keep) {
  pthread_mutex_lock(&pool->mutex);
  if (keep) {
    pool->idle[pool->idle_count++] = connection;
  } else {
    pool->made--;
  }
  pthread_cond_signal(&pool->freed);
  pthread_mutex_unlock(&pool->mutex);
  if (!keep) connection_free(connection);
}

void pool_lose(struct pool *pool, struct connection *connection) {
  struct connection *stale[POOL_LIMIT];
  pthread_mutex_lock(&pool->mutex);
  int count = pool->idle_count;
  for (int at = 0; at < count; at++) stale[at] = pool->idle[at];
  pool->idle_count = 0;
  pool->made -= count;
  pthread_cond_broadcast(&pool->freed);
  pthread_mutex_unlock(&pool->mutex);
  for (int at = 0; at < count; at++) connection_free(stale[at]);
  pool_give(pool, connection, false);
}
