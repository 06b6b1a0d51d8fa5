#include "server.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <thrift/c_glib/thrift_application_exception.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "message.h"
#include "mv_movies_types.h"
#include "own_methods.h"
#include "socket.h"

/** More than 30 callers with 8 connections each have, and less than the 1024 descriptors of a process. */
#define MOST_PEERS 512
/** Source: the contract of the application. */
#define LONGEST_END_NS (2000 * NS_PER_MS)
/** A caller that reads no answer for this long has given up. */
#define LONGEST_WRITE_NS DEFAULT_DEADLINE_NS
#define EVENTS 64
/** How often is looked whether requests under way have ended. */
#define LOOK_US 2000

struct peer {
  int descriptor;
  struct inbox inbox;
  _Atomic bool is_at_work;
  struct peer *before, *after;
};

/** One request; it points into the inbox of its peer. */
struct work {
  struct peer *peer;
  struct frame frame;
  struct message_head head;
  /** On the wire. */
  size_t size;
  int64_t arrived_ns;
  const struct method *method;
  /** Of the service; -1: of the chassis, or none. */
  int place;
};

/** A request and its answer. */
struct exchange {
  const struct work *work;
  struct request request;
  int64_t budget_ns, cpu_from_ns;
  uint64_t caller_span;
  int64_t stamps[6];
  enum outcome outcome;
};

static const struct method *find_method(const struct method *methods, const struct message_head *head, int *place) {
  for (int at = 0; methods[at].name; at++) {
    if (strlen(methods[at].name) != head->name_size || memcmp(methods[at].name, head->name, head->name_size) != 0) continue;
    *place = at;
    return &methods[at];
  }
  *place = -1;
  return NULL;
}

static bool watch(struct server *server, int descriptor, void *what, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = what};
  return epoll_ctl(server->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

/** From here on it is the reader's, which may close it at once. */
static void arm(struct server *server, struct peer *peer) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = peer};
  int descriptor = peer->descriptor;
  peer->is_at_work = false;
  epoll_ctl(server->epoll, EPOLL_CTL_MOD, descriptor, &event);
}

static void close_peer(struct server *server, struct peer *peer) {
  pthread_mutex_lock(&server->peers_mutex);
  if (peer->before) {
    peer->before->after = peer->after;
  } else {
    server->peers = peer->after;
  }
  if (peer->after) peer->after->before = peer->before;
  server->peer_count--;
  pthread_mutex_unlock(&server->peers_mutex);
  close(peer->descriptor);
  inbox_free(&peer->inbox);
  g_free(peer);
}

static struct exchange begin(struct server *server, const struct work *work, struct codec *codec) {
  struct exchange exchange = {.work = work, .budget_ns = DEFAULT_DEADLINE_NS, .cpu_from_ns = cpu_ns()};
  exchange.stamps[0] = work->arrived_ns;
  exchange.stamps[1] = now_ns();
  int64_t left_ms;
  if (parse_decimal(work->frame.deadline.data, work->frame.deadline.size, &left_ms)) exchange.budget_ns = left_ms * NS_PER_MS;
  struct request *request = &exchange.request;
  request->records = &server->service->records;
  request->codec = codec;
  request->deadline_ns = work->arrived_ns + exchange.budget_ns;
  request->trace = trace_parse(work->frame.traceparent.data, work->frame.traceparent.size);
  exchange.caller_span = request->trace.span;
  if (request->trace.is_sampled) request->trace.span = new_span_id();
  return exchange;
}

static void answer_exception(struct exchange *exchange, int type, enum outcome outcome, const char *what) {
  const struct message_head *head = &exchange->work->head;
  char *name = g_strndup(head->name, head->name_size);
  exchange->outcome = outcome;
  codec_write_exception(exchange->request.codec, name, head->sequence, type, what);
  g_free(name);
}

static void answer_failure(struct exchange *exchange, const struct failure *failure, ThriftStruct *result) {
  char what[sizeof failure->what + 16];
  const struct work *work = exchange->work;
  switch (failure->outcome) {
    case OUTCOME_REFUSED: {
      mvRefused *refused = g_object_new(MV_TYPE_REFUSED, "code", failure->code, "what", failure->what, NULL);
      g_object_set(result, "refused", refused, NULL);
      g_object_unref(refused);
      exchange->outcome = OUTCOME_REFUSED;
      codec_write(exchange->request.codec, work->method->name, T_REPLY, work->head.sequence, result);
      break;
    }
    case OUTCOME_DEADLINE:
      snprintf(what, sizeof what, "deadline: %s", failure->what);
      answer_exception(exchange, THRIFT_APPLICATION_EXCEPTION_ERROR_INTERNAL_ERROR, OUTCOME_DEADLINE, what);
      break;
    default:
      snprintf(what, sizeof what, "%s: %s", failure->is_overload ? "overloaded" : "unavailable", failure->what);
      answer_exception(exchange, THRIFT_APPLICATION_EXCEPTION_ERROR_INTERNAL_ERROR, OUTCOME_FAILED, what);
  }
}

/** False if the arguments cannot be read. */
static bool process(struct server *server, struct exchange *exchange) {
  const struct work *work = exchange->work;
  struct codec *codec = exchange->request.codec;
  ThriftStruct *arguments = g_object_new(work->method->arguments(), NULL);
  ThriftStruct *result = g_object_new(work->method->result(), NULL);
  bool is_read = codec_read(codec, work->frame.message, arguments);
  if (is_read) {
    struct failure failure = {0};
    exchange->stamps[2] = now_ns();
    bool ok =
        work->method->handle(work->place < 0 ? server->service : server->self, &exchange->request, arguments, result, &failure);
    exchange->stamps[3] = now_ns();
    if (ok && !codec_write(codec, work->method->name, T_REPLY, work->head.sequence, result)) {
      ok = fail_unavailable(&failure, "the answer is larger than a frame of %u bytes", FRAME_LIMIT);
    }
    if (!ok) answer_failure(exchange, &failure, result);
  }
  g_object_unref(arguments);
  g_object_unref(result);
  return is_read;
}

static void count(struct counters *counters, const struct exchange *exchange, int64_t queue, int64_t application, int64_t cpu) {
  counters->requests++;
  counters->queue_ns += queue;
  counters->application_ns += application;
  counters->cpu_ns += cpu;
  if (exchange->outcome == OUTCOME_REFUSED) counters->refused++;
  if (exchange->outcome == OUTCOME_FAILED) counters->errors++;
  if (exchange->outcome == OUTCOME_DEADLINE) counters->deadline++;
}

static void write_span(struct exchange *exchange, size_t bytes_out) {
  const struct request *request = &exchange->request;
  struct span span = {.kind = SPAN_SERVER,
                      .method = (uint16_t)exchange->work->place,
                      .outcome = (uint8_t)exchange->outcome,
                      .span = request->trace.span,
                      .parent = exchange->caller_span,
                      .cpu_ns = cpu_ns() - exchange->cpu_from_ns,
                      .bytes_in = (uint32_t)exchange->work->size,
                      .bytes_out = (uint32_t)bytes_out};
  memcpy(span.trace, request->trace.id, sizeof span.trace);
  memcpy(span.stamps, exchange->stamps, sizeof span.stamps);
  spans_add(&request->records->spans, &span);
}

/** Sends the answer. True if the connection can be used further; otherwise it is closed. */
static bool answer(struct server *server, struct exchange *exchange, int64_t longest_write_ns) {
  const struct work *work = exchange->work;
  struct codec *codec = exchange->request.codec;
  int64_t *stamps = exchange->stamps;
  stamps[4] = now_ns();
  fill_stamps(stamps);
  const int64_t queue = stamps[1] - stamps[0], application = stamps[3] - stamps[2], cpu = cpu_ns() - exchange->cpu_from_ns;
  if (work->place >= 0) count(&server->service->records.counters, exchange, queue, application, cpu);
  if (work->frame.has_header) {
    char times[72];
    snprintf(times, sizeof times, "%" PRId64 ",%" PRId64 ",%" PRId64, queue, application, cpu);
    frame_header(codec->head, work->frame.sequence, &(struct pair){"s", times}, 1, codec->written->len);
  } else {
    frame_length(codec->head, codec->written->len);
  }
  struct failure failure;
  bool ok = socket_send(work->peer->descriptor, codec->head->data, codec->head->len, codec->written->data, codec->written->len,
                        stamps[4] + longest_write_ns, &failure);
  stamps[5] = now_ns();
  if (work->place >= 0 && exchange->request.trace.is_sampled) write_span(exchange, codec->head->len + codec->written->len);
  if (ok) {
    inbox_consume(&work->peer->inbox, work->size);
  } else {
    close_peer(server, work->peer);
  }
  return ok;
}

/** Whether the connection can be used further; otherwise it is closed. */
static bool serve(struct server *server, const struct work *work, struct codec *codec, int64_t longest_write_ns) {
  struct exchange exchange = begin(server, work, codec);
  if (!work->method) {
    char *what = g_strdup_printf("`%.*s` is not a method", (int)MIN(work->head.name_size, 64), work->head.name);
    answer_exception(&exchange, THRIFT_APPLICATION_EXCEPTION_ERROR_UNKNOWN_METHOD, OUTCOME_FAILED, what);
    g_free(what);
  } else if (work->place >= 0 && exchange.stamps[1] >= exchange.request.deadline_ns) {
    struct failure failure;
    fail_deadline(&failure, "%" PRId64 " ms were spent before the request was begun", exchange.budget_ns / NS_PER_MS);
    answer_failure(&exchange, &failure, NULL);
  } else if (!process(server, &exchange)) {
    server->service->records.counters.bad_frames++;
    close_peer(server, work->peer);
    return false;
  }
  return answer(server, &exchange, longest_write_ns);
}

static bool refuse_overloaded(struct server *server, const struct work *work, struct codec *codec) {
  server->service->records.counters.overloaded++;
  struct exchange exchange = begin(server, work, codec);
  char what[64];
  snprintf(what, sizeof what, "overloaded: %d requests wait already", server->service->config->queue);
  answer_exception(&exchange, THRIFT_APPLICATION_EXCEPTION_ERROR_INTERNAL_ERROR, OUTCOME_FAILED, what);
  return answer(server, &exchange, 0);
}

/** The next request of a peer; of `INBOX_FRAME` it is whole. */
static enum inbox_next next_work(const struct server *server, struct peer *peer, struct work *work) {
  const char *body;
  size_t size;
  enum inbox_next next = inbox_peek(&peer->inbox, &body, &size);
  if (next != INBOX_FRAME) return next;
  *work = (struct work){.peer = peer, .size = 4 + size, .arrived_ns = now_ns()};
  if (!frame_parse(body, size, &work->frame)) return INBOX_BAD;
  if (!message_check(work->frame.message.data, work->frame.message.size, &work->head)) return INBOX_BAD;
  if (work->head.type != MESSAGE_CALL) return INBOX_BAD;
  int unused;
  work->method = find_method(server->methods, &work->head, &work->place);
  if (!work->method) work->method = find_method(own_methods, &work->head, &unused);
  return INBOX_FRAME;
}

static bool push(struct server *server, const struct work *work) {
  pthread_mutex_lock(&server->queue_mutex);
  const int most = server->service->config->queue;
  bool has_room = server->count < most;
  if (has_room) {
    work->peer->is_at_work = true;
    server->queue[(server->first + server->count++) % most] = *work;
    pthread_cond_signal(&server->waiting);
  }
  pthread_mutex_unlock(&server->queue_mutex);
  return has_room;
}

/** Gives the next request of a connection to a worker, or lets the connection be read. `codec`: of this thread. */
static void advance(struct server *server, struct peer *peer, struct codec *codec) {
  for (;;) {
    struct work work;
    switch (next_work(server, peer, &work)) {
      case INBOX_BAD:
        server->service->records.counters.bad_frames++;
        close_peer(server, peer);
        return;
      case INBOX_INCOMPLETE:
        // While draining, requests in the kernel's buffer are still answered, and a partial frame may be completed.
        if (server->is_draining && inbox_read(&peer->inbox, peer->descriptor) == INBOX_BYTES) continue;
        if (server->is_draining && peer->inbox.begin == peer->inbox.end) {
          close_peer(server, peer);
        } else {
          arm(server, peer);
        }
        return;
      case INBOX_FRAME:
        break;
    }
    // The chassis' own methods take no time, and are answered however busy the workers are; but who does not read the answer
    // must not keep this thread.
    if (work.place < 0) {
      if (!serve(server, &work, codec, 0)) return;
    } else if (push(server, &work)) {
      return;
    } else if (!refuse_overloaded(server, &work, codec)) {
      return;
    }
  }
}

static void *work_on(void *given) {
  struct server *server = given;
  struct codec *codec = codec_new();
  const int most = server->service->config->queue;
  pthread_mutex_lock(&server->queue_mutex);
  for (;;) {
    while (server->count == 0 && !server->is_closed) pthread_cond_wait(&server->waiting, &server->queue_mutex);
    if (server->count == 0) break;
    struct work work = server->queue[server->first];
    server->first = (server->first + 1) % most;
    server->count--;
    server->at_work++;
    pthread_mutex_unlock(&server->queue_mutex);
    if (serve(server, &work, codec, LONGEST_WRITE_NS)) advance(server, work.peer, codec);
    pthread_mutex_lock(&server->queue_mutex);
    server->at_work--;
  }
  pthread_mutex_unlock(&server->queue_mutex);
  codec_free(codec);
  return NULL;
}

static void accept_all(struct server *server) {
  for (;;) {
    int made = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (made < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) log_error("a connection cannot be accepted", "error", strerror(errno), NULL);
      return;
    }
    pthread_mutex_lock(&server->peers_mutex);
    bool has_room = server->peer_count < MOST_PEERS;
    struct peer *peer = NULL;
    if (has_room) {
      peer = g_new0(struct peer, 1);
      peer->descriptor = made;
      peer->after = server->peers;
      if (server->peers) server->peers->before = peer;
      server->peers = peer;
      server->peer_count++;
    }
    pthread_mutex_unlock(&server->peers_mutex);
    if (!has_room) {
      close(made);
      log_error("a connection was refused: there are 512 already", NULL);
      continue;
    }
    server->service->records.counters.connections++;
    socket_no_delay(made);
    if (!watch(server, made, peer, EPOLLIN | EPOLLONESHOT)) close_peer(server, peer);
  }
}

bool server_open(struct server *server, struct service *service, const struct method *methods, void *self,
                 struct failure *failure) {
  *server = (struct server){.service = service, .methods = methods, .self = self, .reader_codec = codec_new()};
  pthread_mutex_init(&server->peers_mutex, NULL);
  pthread_mutex_init(&server->queue_mutex, NULL);
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&server->waiting, &clock);
  pthread_condattr_destroy(&clock);
  server->queue = g_new(struct work, service->config->queue);
  server->workers = g_new(pthread_t, service->config->threads);
  server->listener = socket_listen(service->config->listen, failure);
  if (server->listener < 0) return false;
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  server->epoll = epoll_create1(EPOLL_CLOEXEC);
  server->signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
  if (!watch(server, server->listener, server, EPOLLIN) || !watch(server, server->signals, NULL, EPOLLIN) ||
      !watch(server, service->drained, NULL, EPOLLIN)) {
    return fail_unavailable(failure, "epoll: %s", strerror(errno));
  }
  for (int at = 0; at < service->config->threads; at++) {
    if (pthread_create(&server->workers[at], NULL, work_on, server) != 0)
      return fail_unavailable(failure, "no thread can be begun");
  }
  return true;
}

/** Serves or closes the connections that no worker has; true if all connections are closed. */
static bool end_idle(struct server *server) {
  struct peer *idle[MOST_PEERS];
  int count = 0;
  pthread_mutex_lock(&server->peers_mutex);
  const bool is_last = !server->peers;
  for (struct peer *peer = server->peers; peer; peer = peer->after) {
    if (!peer->is_at_work) idle[count++] = peer;
  }
  pthread_mutex_unlock(&server->peers_mutex);
  // Workers do not take these, so they stay until this thread closes them or passes them on.
  for (int at = 0; at < count; at++) {
    if (inbox_read(&idle[at]->inbox, idle[at]->descriptor) == INBOX_CLOSED) {
      close_peer(server, idle[at]);
    } else {
      advance(server, idle[at], server->reader_codec);
    }
  }
  return is_last;
}

/** Answers the requests received so far. Ends the process if they take too long. */
static void end(struct server *server) {
  server->is_draining = true;
  // Connections in the kernel's backlog may have sent a request.
  accept_all(server);
  close(server->listener);
  const int64_t until = now_ns() + LONGEST_END_NS;
  while (!end_idle(server) && now_ns() < until) usleep(LOOK_US);
  pthread_mutex_lock(&server->queue_mutex);
  const bool is_idle = server->at_work == 0 && server->count == 0;
  pthread_mutex_unlock(&server->queue_mutex);
  if (is_idle) return;
  log_error("requests were left at the end", NULL);
  spans_flush(&server->service->records.spans);
  // Their threads cannot be joined in time.
  _exit(0);
}

void server_run(struct server *server) {
  for (struct epoll_event events[EVENTS];;) {
    int n = epoll_wait(server->epoll, events, EVENTS, -1);
    for (int at = 0; at < n; at++) {
      void *what = events[at].data.ptr;
      if (!what) {
        end(server);
        return;
      }
      if (what == server) {
        accept_all(server);
        continue;
      }
      struct peer *peer = what;
      // is_at_work orders this thread after the last worker's writes to the peer; the event alone gives the compiler no
      // such order.
      if (peer->is_at_work) continue;
      if (inbox_read(&peer->inbox, peer->descriptor) == INBOX_CLOSED) {
        close_peer(server, peer);
      } else {
        advance(server, peer, server->reader_codec);
      }
    }
  }
}

void server_close(struct server *server) {
  pthread_mutex_lock(&server->queue_mutex);
  server->is_closed = true;
  pthread_cond_broadcast(&server->waiting);
  pthread_mutex_unlock(&server->queue_mutex);
  for (int at = 0; at < server->service->config->threads; at++) pthread_join(server->workers[at], NULL);
  while (server->peers) close_peer(server, server->peers);
  close(server->signals);
  close(server->epoll);
  pthread_cond_destroy(&server->waiting);
  pthread_mutex_destroy(&server->queue_mutex);
  pthread_mutex_destroy(&server->peers_mutex);
  codec_free(server->reader_codec);
  g_free(server->queue);
  g_free(server->workers);
}
