#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "inbox.h"
#include "service.h"

struct peer;
struct work;

/**
 * Serves the methods of one service: a thread accepts connections and reads their frames, and `threads` workers answer them.
 *
 * A thread for each connection would be too many: every caller keeps up to 8 connections, so a service has more of them
 * than threads. An idle connection therefore costs no thread. Requests wait, not connections: their number is limited, and
 * their wait is the queue time of a span.
 *
 * A connection belongs to the reader while it is armed in the epoll set (EPOLLONESHOT), and to a worker between a whole request
 * and its answer; so its bytes need no lock, and its requests are answered in order.
 */
struct server {
  struct service *service;
  const struct method *methods;
  void *self;
  int listener, epoll, signals;
  struct codec *reader_codec;
  pthread_t *workers;

  pthread_mutex_t peers_mutex;
  struct peer *peers;
  int peer_count;
  _Atomic bool is_draining;

  pthread_mutex_t queue_mutex;
  pthread_cond_t waiting;
  /** A ring with room for all that may wait. */
  struct work *queue;
  int first, count, at_work;
  bool is_closed;
};

/** Listens. The caller has blocked SIGTERM and SIGINT. */
bool server_open(struct server *server, struct service *service, const struct method *methods, void *self,
                 struct failure *failure);
/** Returns at the end, when requests under way have ended. */
void server_run(struct server *server);
void server_close(struct server *server);
