#include "call.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "hash.h"
#include "log.h"
#include "mv_movies_types.h"
#include "registry.h"
#include "socket.h"

/** One retry in ten calls: a callee in trouble gets little more than its load. Source: the contract of the application. */
#define RETRY_TENTHS 10
#define MOST_TENTHS 100

/** Source: the contract of the application. */
static bool is_idempotent(const char *method) {
  static const char *const methods[] = {"page",   "like",  "find",   "titles", "pick",    "check",
                                        "charge", "apply", "append", "store",  "compose", "ping"};
  for (size_t at = 0; at < G_N_ELEMENTS(methods); at++) {
    if (!strcmp(method, methods[at])) return true;
  }
  return g_str_has_prefix(method, "read");
}

static void earn(struct edge *edge) {
  int have = edge->budget;
  while (have < MOST_TENTHS && !atomic_compare_exchange_weak(&edge->budget, &have, have + 1)) {
  }
}

static bool spend(struct edge *edge) {
  int have = edge->budget;
  while (have >= RETRY_TENTHS) {
    if (atomic_compare_exchange_weak(&edge->budget, &have, have - RETRY_TENTHS)) return true;
  }
  return false;
}

bool edge_open(struct edge *edge, const struct config *config, const char *callee, const char *method,
               struct failure *failure) {
  GPtrArray *addresses = g_hash_table_lookup(config->upstreams, callee);
  int place = registry_method(callee, method);
  if (!addresses) return fail_unavailable(failure, "the configuration lacks `upstream.%s`", callee);
  if (place < 0) return fail_unavailable(failure, "the registry of C has no method %s of %s", method, callee);
  *edge = (struct edge){.callee = g_strdup(callee),
                        .method = g_strdup(method),
                        .callee_id = registry_id(callee),
                        .method_place = (uint16_t)place,
                        .is_idempotent = is_idempotent(method),
                        .pools = g_new(struct pool, addresses->len),
                        .pool_count = addresses->len,
                        .limit_ms = GPOINTER_TO_INT(g_hash_table_lookup(config->deadlines_ms, callee)),
                        .budget = MOST_TENTHS};
  for (guint at = 0; at < addresses->len; at++) pool_init(&edge->pools[at], addresses->pdata[at]);
  return true;
}

void edge_close(struct edge *edge) {
  for (uint32_t at = 0; at < edge->pool_count; at++) pool_close(&edge->pools[at]);
  g_free(edge->pools);
  g_free(edge->callee);
  g_free(edge->method);
}

/** Adds the buckets that are not empty. */
static void put_histogram(GHashTable *table, const struct edge *edge, const char *what, struct histogram *histogram) {
  for (int bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
    const int64_t count = histogram->counts[bucket];
    if (count == 0) continue;
    char *name = g_strdup_printf("edge.%s.%s.%s.%d", edge->callee, edge->method, what, bucket);
    counters_put(table, name, count);
    g_free(name);
  }
}

void edge_count(GHashTable *table, struct edge *edge) {
  const char *names[] = {"calls", "errors", "ns"};
  const int64_t values[] = {edge->calls, edge->errors, edge->ns};
  for (int at = 0; at < 3; at++) {
    char *name = g_strdup_printf("edge.%s.%s.%s", edge->callee, edge->method, names[at]);
    counters_put(table, name, values[at]);
    g_free(name);
  }
  put_histogram(table, edge, "wall", &edge->wall);
  put_histogram(table, edge, "queue", &edge->queue);
  put_histogram(table, edge, "application", &edge->application);
  put_histogram(table, edge, "cpu", &edge->cpu);
}

uint64_t hash_of_number(int64_t number) {
  char text[24];
  int size = snprintf(text, sizeof text, "%" PRId64, number);
  return fnv1a64(text, (size_t)size);
}

/** One call while it lasts. */
struct call {
  const struct request *request;
  struct edge *edge;
  ThriftStruct *arguments, *result;
  int64_t until_ns;
  struct span span;
  /** Queue, application and processor time of the callee, from the answer. */
  bool has_times;
  int64_t times[3];
};

static bool send_request(struct call *call, struct connection *connection, struct failure *failure) {
  struct codec *codec = call->request->codec;
  int64_t *stamps = call->span.stamps;
  uint32_t sequence = ++connection->sequence;
  if (!codec_write(codec, call->edge->method, T_CALL, (int32_t)sequence, call->arguments)) {
    return fail_unavailable(failure, "the arguments are too large");
  }
  char left_ms[24], trace_text[TRACE_TEXT_SIZE + 1];
  // At least 1: less than a millisecond is more than nothing.
  snprintf(left_ms, sizeof left_ms, "%" PRId64, MAX(1, (call->until_ns - now_ns()) / NS_PER_MS));
  struct pair pairs[] = {{"d", left_ms}, {"traceparent", trace_text}};
  struct trace trace = call->request->trace;
  if (trace.is_sampled) trace.span = call->span.span;
  if (trace.is_there) trace_write(&trace, trace_text);
  frame_header(codec->head, sequence, pairs, trace.is_there ? 2 : 1, codec->written->len);
  stamps[2] = now_ns();
  if (!socket_send(connection->descriptor, codec->head->data, codec->head->len, codec->written->data, codec->written->len,
                   call->until_ns, failure)) {
    return false;
  }
  stamps[3] = now_ns();
  call->span.bytes_out = codec->head->len + codec->written->len;
  return true;
}

static bool await_answer(struct call *call, struct connection *connection, const char **body, size_t *size,
                         struct failure *failure) {
  for (bool is_first = true;; is_first = false) {
    if (!wait_for(connection->descriptor, POLLIN, call->until_ns)) return fail_deadline(failure, "no answer in time");
    if (is_first) call->span.stamps[4] = now_ns();
    enum inbox_got got = inbox_read(&connection->inbox, connection->descriptor);
    switch (inbox_peek(&connection->inbox, body, size)) {
      case INBOX_FRAME:
        return true;
      case INBOX_BAD:
        call->request->records->counters.bad_frames++;
        return fail_unavailable(failure, "a frame of no bytes or too many");
      case INBOX_INCOMPLETE:
        if (got == INBOX_CLOSED) return fail_lost(failure, "the connection ended before the answer");
    }
  }
}

static bool begins(struct slice text, const char *with) {
  return text.size >= strlen(with) && !memcmp(text.data, with, strlen(with));
}

/** An application exception, as the callee said it. */
static bool read_exception(struct slice message, struct failure *failure) {
  struct slice text = message_exception_text(message.data, message.size);
  static const char overloaded[] = "overloaded: ";
  const int size = (int)MIN(text.size, sizeof failure->what);
  if (begins(text, "deadline: ")) return fail_deadline(failure, "%.*s", size, text.data);
  // The prefix tells the caller that a later try may succeed.
  if (begins(text, overloaded)) {
    return fail_overloaded(failure, "%.*s", size - (int)strlen(overloaded), text.data + strlen(overloaded));
  }
  return fail_unavailable(failure, "%.*s", size, text.data);
}

/** Reads the declared exception of a result; true if there is none. */
static bool check_refused(ThriftStruct *result, struct failure *failure) {
  mvRefused *refused = NULL;
  g_object_get(result, "refused", &refused, NULL);
  if (!refused) return true;
  refuse(failure, (int)refused->code, "%s", refused->what ? refused->what : "");
  g_object_unref(refused);
  return false;
}

/** `is_sound`: the connection can be used further. */
static bool read_answer(struct call *call, struct connection *connection, const char *body, size_t size, bool *is_sound,
                        struct failure *failure) {
  struct frame frame;
  struct message_head head;
  if (!frame_parse(body, size, &frame) || !frame.has_header || frame.sequence != connection->sequence ||
      !message_check(frame.message.data, frame.message.size, &head) || head.type == MESSAGE_CALL ||
      (uint32_t)head.sequence != connection->sequence) {
    call->request->records->counters.bad_frames++;
    return fail_unavailable(failure, "an answer that is none to this request");
  }
  call->span.bytes_in = (uint32_t)(4 + size);
  call->has_times = parse_times(frame.times, call->times);
  // A connection with bytes after the answer is not reused.
  *is_sound = connection->inbox.end - connection->inbox.begin == 4 + size;
  if (head.type == MESSAGE_EXCEPTION) return read_exception(frame.message, failure);
  if (!codec_read(call->request->codec, frame.message, call->result)) {
    call->request->records->counters.bad_frames++;
    return fail_unavailable(failure, "an answer without what it must have");
  }
  return check_refused(call->result, failure);
}

static bool attempt(struct call *call, struct pool *pool, struct failure *failure) {
  if (now_ns() >= call->until_ns) return fail_deadline(failure, "nothing is left");
  struct connection *connection = pool_take(pool, call->until_ns, failure);
  if (!connection) return false;
  call->span.stamps[1] = now_ns();
  const char *body;
  size_t size = 0;
  bool is_sound = false;
  bool ok = send_request(call, connection, failure) && await_answer(call, connection, &body, &size, failure) &&
            read_answer(call, connection, body, size, &is_sound, failure);
  if (!ok && failure->is_lost) {
    pool_lose(pool, connection);
    return false;
  }
  if (is_sound) inbox_consume(&connection->inbox, 4 + size);
  // Close after an error: a late answer must not be taken for the next request's.
  pool_give(pool, connection, is_sound);
  return ok;
}

/** Counts it, writes its span, and names the callee in the failure. */
static void finish(struct call *call, bool ok, struct failure *failure) {
  struct edge *edge = call->edge;
  struct span *span = &call->span;
  const struct trace *trace = &call->request->trace;
  span->stamps[5] = now_ns();
  edge->calls++;
  edge->ns += span->stamps[5] - span->stamps[0];
  histogram_add(&edge->wall, span->stamps[5] - span->stamps[0]);
  if (call->has_times) {
    histogram_add(&edge->queue, call->times[0]);
    histogram_add(&edge->application, call->times[1]);
    histogram_add(&edge->cpu, call->times[2]);
  }
  if (!ok && failure->outcome != OUTCOME_REFUSED) {
    edge->errors++;
    struct failure why = *failure;
    g_snprintf(failure->what, sizeof failure->what, "%s: %.200s", edge->callee, why.what);
    log_error("a call failed", "callee", edge->callee, "method", edge->method, "error", why.what, NULL);
  }
  if (!trace->is_sampled) return;
  span->kind = SPAN_CLIENT;
  span->peer = edge->callee_id;
  span->method = edge->method_place;
  span->outcome = (uint8_t)(ok ? OUTCOME_OK : failure->outcome);
  memcpy(span->trace, trace->id, sizeof span->trace);
  span->parent = trace->span;
  spans_add(&call->request->records->spans, span);
}

bool call(const struct request *request, struct edge *edge, const uint64_t *hash, ThriftStruct *arguments, ThriftStruct *result,
          struct failure *failure) {
  struct call call = {.request = request, .edge = edge, .arguments = arguments, .result = result};
  call.span.stamps[0] = now_ns();
  call.span.span = new_span_id();
  call.until_ns = request->deadline_ns;
  if (edge->limit_ms > 0) call.until_ns = MIN(call.until_ns, call.span.stamps[0] + edge->limit_ms * NS_PER_MS);
  earn(edge);
  uint32_t turn = edge->turn++;
  bool ok = attempt(&call, &edge->pools[hash ? jump_hash(*hash, edge->pool_count) : turn % edge->pool_count], failure);
  if (!ok && failure->is_lost && edge->is_idempotent && spend(edge)) {
    request->records->counters.retries++;
    call.span.flags = SPAN_RETRIED;
    ok = attempt(&call, &edge->pools[hash ? jump_hash(*hash, edge->pool_count) : (turn + 1) % edge->pool_count], failure);
  }
  finish(&call, ok, failure);
  return ok;
}
