#include "store.h"

#include <libpq-fe.h>
#include <poll.h>
#include <string.h>

#include "clock.h"
#include "hash.h"
#include "log.h"
#include "registry.h"
#include "socket.h"

/**
 * Who waits gives up when the request's time is spent, and closes the session; PostgreSQL then ends the statement by the
 * first of these, and by the second in any case. Setting the time for each statement would cost a round trip.
 */
#define SESSION_OPTIONS "-c client_connection_check_interval=100 -c statement_timeout=10000"

/** SQLSTATE. Source: PostgreSQL 15, appendix A. */
#define QUERY_CANCELED "57014"
#define ADMIN_CLASS "57P"

enum { BINARY = 1 };

/** A connection, with the statements that it has prepared. */
struct session {
  PGconn *connection;
  bool has_get, has_get_many;
  struct session *next;
};

bool store_open(struct store *store, const struct config *config, const char *domain, const char *table, const char *column,
                struct failure *failure) {
  GPtrArray *uris = g_hash_table_lookup(config->stores, domain);
  if (!uris) return fail_unavailable(failure, "the configuration lacks `store.%s`", domain);
  *store = (struct store){
      .name = g_strdup_printf("%s-db", domain),
      .get = g_strdup_printf("SELECT id, %s FROM %s WHERE id = $1", column, table),
      .get_many = g_strdup_printf("SELECT id, %s FROM %s WHERE id = ANY($1::text[])", column, table),
      .databases = g_new0(struct database, uris->len),
      .count = uris->len,
  };
  store->id = registry_id(store->name);
  for (guint at = 0; at < uris->len; at++) {
    store->databases[at].uri = uris->pdata[at];
    pthread_mutex_init(&store->databases[at].mutex, NULL);
  }
  return true;
}

static void session_free(struct session *session) {
  PQfinish(session->connection);
  g_free(session);
}

static void close_idle(struct database *database) {
  pthread_mutex_lock(&database->mutex);
  struct session *idle = database->idle;
  database->idle = NULL;
  pthread_mutex_unlock(&database->mutex);
  while (idle) {
    struct session *session = idle;
    idle = session->next;
    session_free(session);
  }
}

void store_close(struct store *store) {
  for (uint32_t at = 0; at < store->count; at++) {
    close_idle(&store->databases[at]);
    pthread_mutex_destroy(&store->databases[at].mutex);
  }
  g_free(store->databases);
  g_free(store->name);
  g_free(store->get);
  g_free(store->get_many);
}

/** The first line names the error; the others may hold values. */
static bool lost(const char *text, struct failure *failure) {
  return fail_lost(failure, "%.*s", (int)strcspn(text, "\n"), text);
}

static struct session *session_open(const char *uri, int64_t until_ns, struct failure *failure) {
  const char *keywords[] = {"dbname", "options", NULL}, *values[] = {uri, SESSION_OPTIONS, NULL};
  struct session *session = g_new0(struct session, 1);
  session->connection = PQconnectStartParams(keywords, values, 1);
  PGconn *connection = session->connection;
  bool ok = true;
  for (PostgresPollingStatusType status = PGRES_POLLING_WRITING; ok && status != PGRES_POLLING_OK;
       status = PQconnectPoll(connection)) {
    if (status == PGRES_POLLING_FAILED || PQstatus(connection) == CONNECTION_BAD) {
      ok = lost(PQerrorMessage(connection), failure);
    } else if (!wait_for(PQsocket(connection), status == PGRES_POLLING_READING ? POLLIN : POLLOUT, until_ns)) {
      ok = fail_deadline(failure, "the database was not connected in time");
    }
    if (!ok) break;
  }
  if (ok) return session;
  session_free(session);
  return NULL;
}

static bool check_result(PGconn *connection, const PGresult *result, struct failure *failure) {
  ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return true;
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE), *why = PQresultErrorMessage(result);
  if (!state || PQstatus(connection) == CONNECTION_BAD || !strncmp(state, ADMIN_CLASS, strlen(ADMIN_CLASS)))
    return lost(why, failure);
  if (!strcmp(state, QUERY_CANCELED)) return fail_deadline(failure, "%.*s", (int)strcspn(why, "\n"), why);
  return fail_unavailable(failure, "%.*s", (int)strcspn(why, "\n"), why);
}

/** Waits for the result of the last query; the caller clears it. */
static PGresult *await_result(PGconn *connection, int64_t until_ns, struct failure *failure) {
  PGresult *last = NULL;
  for (;;) {
    while (PQisBusy(connection)) {
      if (!wait_for(PQsocket(connection), POLLIN, until_ns)) {
        PQclear(last);
        fail_deadline(failure, "the database did not answer in time");
        return NULL;
      }
      if (!PQconsumeInput(connection)) {
        PQclear(last);
        lost(PQerrorMessage(connection), failure);
        return NULL;
      }
    }
    PGresult *next = PQgetResult(connection);
    if (!next) break;
    PQclear(last);
    last = next;
  }
  if (!last) {
    lost(PQerrorMessage(connection), failure);
    return NULL;
  }
  if (check_result(connection, last, failure)) return last;
  PQclear(last);
  return NULL;
}

/** A query to one database. */
struct question {
  const struct store *store;
  bool is_many;
  /** An id, or an array of them. */
  const char *value;
  int64_t until_ns;
  struct span *span;
};

static bool prepare(struct session *session, const struct question *question, struct failure *failure) {
  bool *has = question->is_many ? &session->has_get_many : &session->has_get;
  if (*has) return true;
  const char *sql = question->is_many ? question->store->get_many : question->store->get;
  if (!PQsendPrepare(session->connection, question->is_many ? "get_many" : "get", sql, 0, NULL)) {
    return lost(PQerrorMessage(session->connection), failure);
  }
  PGresult *result = await_result(session->connection, question->until_ns, failure);
  if (!result) return false;
  PQclear(result);
  return *has = true;
}

static PGresult *ask_session(struct session *session, const struct question *question, struct failure *failure) {
  if (!prepare(session, question, failure)) return NULL;
  if (!PQsendQueryPrepared(session->connection, question->is_many ? "get_many" : "get", 1, &question->value, NULL, NULL,
                           BINARY)) {
    lost(PQerrorMessage(session->connection), failure);
    return NULL;
  }
  question->span->stamps[3] = now_ns();
  question->span->bytes_out += (uint32_t)strlen(question->value);
  PGresult *result = await_result(session->connection, question->until_ns, failure);
  question->span->stamps[4] = now_ns();
  return result;
}

/** Returns a usable session to the pool. */
static PGresult *ask_and_keep(struct database *database, struct session *session, const struct question *question,
                              struct failure *failure) {
  PGresult *result = ask_session(session, question, failure);
  if (!result) {
    session_free(session);
    return NULL;
  }
  pthread_mutex_lock(&database->mutex);
  session->next = database->idle;
  database->idle = session;
  pthread_mutex_unlock(&database->mutex);
  return result;
}

static PGresult *ask(struct database *database, const struct question *question, struct failure *failure) {
  pthread_mutex_lock(&database->mutex);
  struct session *session = database->idle;
  if (session) database->idle = session->next;
  pthread_mutex_unlock(&database->mutex);
  if (session) {
    PGresult *result = ask_and_keep(database, session, question, failure);
    if (result || !failure->is_lost) return result;
    // The database was restarted since, so all idle sessions are dead too. Every question is safe to repeat.
    close_idle(database);
    question->span->flags = SPAN_RETRIED;
  }
  session = session_open(database->uri, question->until_ns, failure);
  return session ? ask_and_keep(database, session, question, failure) : NULL;
}

static void take_rows(const PGresult *result, char *const *ids, GByteArray **values, guint count, struct span *span) {
  for (int row = 0; row < PQntuples(result); row++) {
    const char *id = PQgetvalue(result, row, 0);
    const guint size = (guint)PQgetlength(result, row, 1);
    span->bytes_in += size;
    for (guint at = 0; at < count; at++) {
      if (values[at] || strcmp(ids[at], id) != 0) continue;
      values[at] = g_byte_array_append(g_byte_array_sized_new(size), (const guint8 *)PQgetvalue(result, row, 1), size);
    }
  }
}

/** Appends an id to a text that PostgreSQL reads as an array of texts. */
static void append_id(GString *array, const char *id) {
  g_string_append(array, array->len > 1 ? ",\"" : "\"");
  for (; *id; id++) {
    if (*id == '"' || *id == '\\') g_string_append_c(array, '\\');
    g_string_append_c(array, *id);
  }
  g_string_append_c(array, '"');
}

bool store_get(const struct request *request, struct store *store, char *const *ids, GByteArray **values, guint count,
               struct failure *failure) {
  bool ok = true;
  for (uint32_t shard = 0; ok && shard < store->count; shard++) {
    GString *array = g_string_new("{");
    const char *only = NULL;
    guint wanted = 0;
    for (guint at = 0; at < count; at++) {
      if (values[at] || jump_hash(fnv1a64(ids[at], strlen(ids[at])), store->count) != shard) continue;
      append_id(array, ids[at]);
      only = ids[at];
      wanted++;
    }
    g_string_append_c(array, '}');
    if (wanted > 0) {
      struct span span = store_span_begin(request, store->id, wanted == 1 ? STORE_GET : STORE_GET_MANY);
      struct question question = {store, wanted > 1, wanted > 1 ? array->str : only, request->deadline_ns, &span};
      PGresult *result = ask(&store->databases[shard], &question, failure);
      if (result) {
        take_rows(result, ids, values, count, &span);
        PQclear(result);
      } else {
        ok = false;
        span.outcome = (uint8_t)failure->outcome;
        struct failure why = *failure;
        g_snprintf(failure->what, sizeof failure->what, "%s: %.200s", store->name, why.what);
        log_error("a store failed", "store", store->name, "error", why.what, NULL);
      }
      store_span_end(request, &span);
    }
    g_string_free(array, TRUE);
  }
  return ok;
}
