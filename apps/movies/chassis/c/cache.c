#include "cache.h"

#include <poll.h>
#include <string.h>

#include "cache_text.h"
#include "clock.h"
#include "hash.h"
#include "log.h"
#include "registry.h"
#include "socket.h"

/** Longest wait for a cache, which normally answers within 1 ms; then the store is queried. */
#define LONGEST_NS (50 * NS_PER_MS)

bool cache_open(struct cache *cache, const struct config *config, const char *domain, struct failure *failure) {
  GPtrArray *addresses = g_hash_table_lookup(config->caches, domain);
  if (!addresses) return fail_unavailable(failure, "the configuration lacks `cache.%s`", domain);
  char *name = g_strdup_printf("%s-cache", domain);
  *cache = (struct cache){.id = registry_id(name), .shards = g_new(struct pool, addresses->len), .count = addresses->len};
  g_free(name);
  for (guint at = 0; at < addresses->len; at++) pool_init(&cache->shards[at], addresses->pdata[at]);
  return true;
}

void cache_close(struct cache *cache) {
  for (uint32_t at = 0; at < cache->count; at++) pool_close(&cache->shards[at]);
  g_free(cache->shards);
}

static uint32_t shard_of(const struct cache *cache, const char *key) {
  return jump_hash(fnv1a64(key, strlen(key)), cache->count);
}

/** A query to one shard. */
struct question {
  struct pool *pool;
  struct connection *connection;
  GByteArray *text;
  guint keys;
};

static struct question *questions_of(struct cache *cache) {
  struct question *questions = g_new0(struct question, cache->count);
  for (uint32_t at = 0; at < cache->count; at++)
    questions[at] = (struct question){&cache->shards[at], NULL, g_byte_array_new(), 0};
  return questions;
}

static void free_questions(struct question *questions, uint32_t count) {
  for (uint32_t at = 0; at < count; at++) g_byte_array_unref(questions[at].text);
  g_free(questions);
}

static void append(GByteArray *text, const char *more) { g_byte_array_append(text, (const guint8 *)more, (guint)strlen(more)); }

static void give_up(const struct request *request, struct question *question, struct span *span,
                    const struct failure *failure) {
  if (question->connection) pool_lose(question->pool, question->connection);
  question->connection = NULL;
  request->records->counters.cache_errors++;
  span->outcome = OUTCOME_FAILED;
  log_error("a cache failed", "address", question->pool->address->text, "error", failure->what, NULL);
}

static void send_question(const struct request *request, struct question *question, int64_t until_ns, struct span *span) {
  struct failure failure;
  question->connection = pool_take(question->pool, until_ns, &failure);
  if (!question->connection ||
      !socket_send(question->connection->descriptor, question->text->data, question->text->len, NULL, 0, until_ns, &failure)) {
    give_up(request, question, span, &failure);
    return;
  }
  span->stamps[3] = now_ns();
  span->bytes_out += question->text->len;
}

/** Destination of an answer's values. */
struct wanted {
  char *const *keys;
  GByteArray **values;
  guint count, found;
};

static bool take_value(void *context, const char *key, size_t key_size, const char *data, size_t size) {
  struct wanted *wanted = context;
  for (guint at = 0; at < wanted->count; at++) {
    if (strlen(wanted->keys[at]) != key_size || memcmp(wanted->keys[at], key, key_size) != 0) continue;
    if (wanted->values[at]) return true;
    wanted->values[at] = g_byte_array_append(g_byte_array_sized_new((guint)size), (const guint8 *)data, (guint)size);
    wanted->found++;
    return true;
  }
  return false;  // It was not asked for.
}

/** `wanted`: NULL for the answers to sets. */
static bool read_answer(struct question *question, struct wanted *wanted, int64_t until_ns, size_t *used,
                        struct failure *failure) {
  struct connection *connection = question->connection;
  struct inbox *inbox = &connection->inbox;
  for (;;) {
    if (!wait_for(connection->descriptor, POLLIN, until_ns)) return fail_deadline(failure, "no answer in time");
    enum inbox_got got = inbox_read(inbox, connection->descriptor);
    const char *text = inbox->data + inbox->begin;
    size_t size = inbox->end - inbox->begin;
    enum cache_answer answer = wanted ? cache_parse_values(text, size, take_value, wanted, used)
                                      : cache_parse_stored(text, size, question->keys, used);
    if (answer == CACHE_WHOLE) return true;
    if (answer == CACHE_BAD) return fail_lost(failure, "an answer that is none to the question");
    if (got == INBOX_CLOSED) return fail_lost(failure, "the connection ended before the answer");
  }
}

/** Sends all questions, then reads the answers. */
static void ask(const struct request *request, struct cache *cache, struct question *questions, struct wanted *wanted,
                struct span *span) {
  const int64_t until = MIN(request->deadline_ns, now_ns() + LONGEST_NS);
  for (uint32_t at = 0; at < cache->count; at++) {
    if (questions[at].keys > 0) send_question(request, &questions[at], until, span);
  }
  for (uint32_t at = 0; at < cache->count; at++) {
    struct question *question = &questions[at];
    if (!question->connection) continue;
    struct failure failure;
    size_t used;
    if (!read_answer(question, wanted, until, &used, &failure)) {
      give_up(request, question, span, &failure);
      continue;
    }
    span->stamps[4] = now_ns();
    span->bytes_in += (uint32_t)used;
    inbox_consume(&question->connection->inbox, used);
    pool_give(question->pool, question->connection, true);
  }
}

void cache_get(const struct request *request, struct cache *cache, char *const *keys, GByteArray **values, guint count) {
  if (count == 0) return;
  struct span span = store_span_begin(request, cache->id, count == 1 ? STORE_GET : STORE_GET_MANY);
  struct question *questions = questions_of(cache);
  for (guint at = 0; at < count; at++) {
    struct question *question = &questions[shard_of(cache, keys[at])];
    append(question->text, question->keys++ == 0 ? "get " : " ");
    append(question->text, keys[at]);
  }
  for (uint32_t at = 0; at < cache->count; at++) append(questions[at].text, "\r\n");
  struct wanted wanted = {keys, values, count, 0};
  ask(request, cache, questions, &wanted, &span);
  free_questions(questions, cache->count);
  request->records->counters.cache_hits += wanted.found;
  request->records->counters.cache_misses += count - wanted.found;
  store_span_end(request, &span);
}

void cache_set(const struct request *request, struct cache *cache, char *const *keys, GByteArray *const *values, guint count,
               int seconds) {
  struct span span = store_span_begin(request, cache->id, STORE_INSERT);
  struct question *questions = questions_of(cache);
  bool has_any = false;
  for (guint at = 0; at < count; at++) {
    if (!values[at]) continue;
    struct question *question = &questions[shard_of(cache, keys[at])];
    char head[CACHE_KEY_LIMIT + 64];
    g_snprintf(head, sizeof head, "set %s 0 %d %u\r\n", keys[at], seconds, values[at]->len);
    append(question->text, head);
    g_byte_array_append(question->text, values[at]->data, values[at]->len);
    append(question->text, "\r\n");
    question->keys++;
    has_any = true;
  }
  if (has_any) {
    ask(request, cache, questions, NULL, &span);
    store_span_end(request, &span);
  }
  free_questions(questions, cache->count);
}
