#pragma once

#include <libpq-fe.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "records.h"
#include "store_span.h"

namespace chassis {

/** A column of a table by key. Both names are constants of the program, never outside input. */
struct Column {
  Column(const char* table, const char* name = "doc", bool is_binary = false)
      : table(table), name(name), is_binary(is_binary) {}
  const char* table;
  const char* name;
  bool is_binary;
};

/**
 * The rows of a domain, by table and key: PostgreSQL with columns `id text` and `doc jsonb` or `data bytea`, in one database or,
 * by the jump hash of the key, in several. A thread sends one query at a time, so there are at most as many connections as threads.
 *
 * Errors of all questions: `Unavailable`, `DeadlineSpent`.
 */
class Store {
 public:
  Store(Records& records, const std::string& domain, const std::vector<std::string>& uris);

  std::optional<std::string> get(const Column& column, const std::string& id);
  /** The values found, by key. */
  std::map<std::string, std::string> get_many(const Column& column, const std::vector<std::string>& ids);
  /** False if the key exists; the document then stays unchanged. */
  bool insert(const std::string& table, const std::string& id, const std::string& doc);

 private:
  struct Session;
  struct Statement;
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

  struct Database {
    explicit Database(std::string uri);
    ~Database();
    std::string uri;
    std::mutex mutex;
    std::vector<std::unique_ptr<Session>> idle;
  };

  Result ask(Database& database, const Statement& statement);
  Result ask_once(Database& database, std::unique_ptr<Session> session, const Statement& statement, int64_t until_ns,
                  StoreSpan& span);
  Database& of(const std::string& id);

  Records& records_;
  const std::string name_;
  const uint16_t id_;
  std::deque<Database> databases_;
};

/** A text as PostgreSQL reads arrays of texts. */
std::string array_literal(const std::vector<std::string>& texts);

}  // namespace chassis
