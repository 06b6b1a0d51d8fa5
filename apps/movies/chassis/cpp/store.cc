#include "store.h"

#include <poll.h>

#include <cstring>

#include "failure.h"
#include "jump.h"
#include "log.h"
#include "registry.h"
#include "socket.h"

namespace chassis {
namespace {

/**
 * Who waits gives up when the request's time is spent, and closes the connection; PostgreSQL then ends the statement
 * by the first of these, and by the second in any case. Setting the time for each statement would cost a round trip.
 */
constexpr const char* kSession = "-c client_connection_check_interval=100 -c statement_timeout=10000";

/** SQLSTATE. Source: PostgreSQL 15, appendix A. */
constexpr const char* kQueryCanceled = "57014";
constexpr const char* kAdminClass = "57P";

std::string first_line(const char* text) {
  std::string line = text ? text : "";
  return line.substr(0, line.find('\n'));
}

std::string value_in(const PGresult* result, int row, int column) {
  return {PQgetvalue(result, row, column), static_cast<size_t>(PQgetlength(result, row, column))};
}

}  // namespace

struct Store::Statement {
  std::string name;
  std::string sql;
  std::vector<std::string> values;
  StoreMethod method;
  bool is_binary = false;

  size_t size() const {
    size_t sum = 0;
    for (const std::string& value : values) sum += value.size();
    return sum;
  }
};

/** A connection, with the names of the statements that it has prepared. */
struct Store::Session {
  Session(const std::string& uri, int64_t until_ns) : until_ns(until_ns) {
    const char* keywords[] = {"dbname", "options", nullptr};
    const char* values[] = {uri.c_str(), kSession, nullptr};
    connection = PQconnectStartParams(keywords, values, 1);
    for (auto status = PGRES_POLLING_WRITING; status != PGRES_POLLING_OK; status = PQconnectPoll(connection)) {
      if (status == PGRES_POLLING_FAILED || PQstatus(connection) == CONNECTION_BAD) fail();
      if (!wait_for(PQsocket(connection), status == PGRES_POLLING_READING ? POLLIN : POLLOUT, until_ns)) {
        PQfinish(connection);
        throw DeadlineSpent("the database was not connected in time");
      }
    }
  }
  ~Session() {
    if (connection) PQfinish(connection);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /** Waits for the result of the last query. */
  Result result() {
    Result last(nullptr, PQclear);
    for (;;) {
      while (PQisBusy(connection)) {
        if (!wait_for(PQsocket(connection), POLLIN, until_ns)) throw DeadlineSpent("the database did not answer in time");
        if (!PQconsumeInput(connection)) throw ConnectionLost(first_line(PQerrorMessage(connection)));
      }
      PGresult* next = PQgetResult(connection);
      if (!next) break;
      last.reset(next);
    }
    if (!last) throw ConnectionLost(first_line(PQerrorMessage(connection)));
    check(last.get());
    return last;
  }

  void prepare(const Statement& statement) {
    if (prepared.count(statement.name)) return;
    sent(PQsendPrepare(connection, statement.name.c_str(), statement.sql.c_str(), 0, nullptr));
    result();
    prepared.insert(statement.name);
  }

  void send(const Statement& statement) {
    std::vector<const char*> values;
    for (const std::string& value : statement.values) values.push_back(value.c_str());
    sent(PQsendQueryPrepared(connection, statement.name.c_str(), static_cast<int>(values.size()), values.data(), nullptr, nullptr,
                             statement.is_binary));
  }

  PGconn* connection = nullptr;
  int64_t until_ns;
  std::set<std::string> prepared;

 private:
  [[noreturn]] void fail() {
    std::string why = first_line(PQerrorMessage(connection));
    PQfinish(connection);
    throw ConnectionLost(why);
  }

  void sent(int ok) {
    if (!ok) throw ConnectionLost(first_line(PQerrorMessage(connection)));
  }

  void check(const PGresult* result) {
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    std::string why = first_line(PQresultErrorMessage(result));
    if (!state || PQstatus(connection) == CONNECTION_BAD || strncmp(state, kAdminClass, 3) == 0) throw ConnectionLost(why);
    if (strcmp(state, kQueryCanceled) == 0) throw DeadlineSpent(why);
    throw Unavailable(why);
  }
};

Store::Database::Database(std::string uri) : uri(std::move(uri)) {}
Store::Database::~Database() = default;

Store::Store(Records& records, const std::string& domain, const std::vector<std::string>& uris)
    : records_(records), name_(domain + "-db"), id_(registry_id(name_)) {
  for (const std::string& uri : uris) databases_.emplace_back(uri);
}

Store::Database& Store::of(const std::string& id) { return databases_[shard_of(id, databases_.size())]; }

std::optional<std::string> Store::get(const Column& column, const std::string& id) {
  const std::string table = column.table, name = column.name;
  Result result = ask(
      of(id),
      {"get_" + name + "_" + table, "SELECT " + name + " FROM " + table + " WHERE id = $1", {id}, kGet, column.is_binary});
  if (PQntuples(result.get()) == 0) return std::nullopt;
  return value_in(result.get(), 0, 0);
}

std::map<std::string, std::string> Store::get_many(const Column& column, const std::vector<std::string>& ids) {
  const std::string table = column.table, name = column.name;
  std::vector<std::vector<std::string>> shards(databases_.size());
  for (const std::string& id : ids) shards[shard_of(id, shards.size())].push_back(id);
  std::map<std::string, std::string> found;
  for (size_t shard = 0; shard < shards.size(); shard++) {
    if (shards[shard].empty()) continue;
    Result result = ask(databases_[shard],
                        {"get_many_" + name + "_" + table,
                         "SELECT id, " + name + " FROM " + table + " WHERE id = ANY($1::text[])",
                         {array_literal(shards[shard])},
                         kGetMany,
                         column.is_binary});
    for (int row = 0; row < PQntuples(result.get()); row++) {
      found[value_in(result.get(), row, 0)] = value_in(result.get(), row, 1);
    }
  }
  return found;
}

bool Store::insert(const std::string& table, const std::string& id, const std::string& doc) {
  Result result =
      ask(of(id),
          {"insert_" + table, "INSERT INTO " + table + " (id, doc) VALUES ($1, $2) ON CONFLICT DO NOTHING", {id, doc}, kInsert});
  return strcmp(PQcmdTuples(result.get()), "1") == 0;
}

Store::Result Store::ask(Database& database, const Statement& statement) {
  const Context context = Context::current();
  StoreSpan span(records_, context, id_, statement.method);
  try {
    std::unique_ptr<Session> session;
    {
      std::lock_guard lock(database.mutex);
      if (!database.idle.empty()) {
        session = std::move(database.idle.back());
        database.idle.pop_back();
      }
    }
    if (session) {
      try {
        return ask_once(database, std::move(session), statement, context.deadline_ns, span);
      } catch (const ConnectionLost&) {
        // The database was restarted since, so all idle connections are dead too. Every statement is safe to repeat.
        std::lock_guard lock(database.mutex);
        database.idle.clear();
        span.retried();
      }
    }
    session = std::make_unique<Session>(database.uri, context.deadline_ns);
    return ask_once(database, std::move(session), statement, context.deadline_ns, span);
  } catch (const DeadlineSpent&) {
    span.failed(Outcome::kDeadline);
    throw;
  } catch (const std::exception& error) {
    span.failed(Outcome::kFailed);
    log_error("a store failed", {{"store", name_}, {"error", error.what()}});
    throw Unavailable(name_ + ": " + error.what());
  }
}

Store::Result Store::ask_once(Database& database, std::unique_ptr<Session> session, const Statement& statement, int64_t until_ns,
                              StoreSpan& span) {
  session->until_ns = until_ns;
  session->prepare(statement);
  session->send(statement);
  span.sent(statement.size());
  Result result = session->result();
  size_t bytes = 0;
  for (int row = 0; row < PQntuples(result.get()); row++) {
    bytes += static_cast<size_t>(PQgetlength(result.get(), row, PQnfields(result.get()) - 1));
  }
  span.answered(bytes);
  std::lock_guard lock(database.mutex);
  database.idle.push_back(std::move(session));
  return result;
}

std::string array_literal(const std::vector<std::string>& texts) {
  std::string out = "{";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    out += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + "}";
}

}  // namespace chassis
