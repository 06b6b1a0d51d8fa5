#include "cache.h"

#include <poll.h>

#include <algorithm>

#include "failure.h"
#include "jump.h"
#include "log.h"
#include "registry.h"
#include "store_span.h"

namespace chassis {
namespace {

/** Longest wait for a cache, which normally answers within 1 ms; then the store is queried. */
constexpr int64_t kLongestNs = 50 * kNsPerMs;

/** Source: memcached's doc/protocol.txt. */
constexpr std::string_view kStored = "STORED\r\n", kNotStored = "NOT_STORED\r\n";

/** Reads what comes next. Errors: `ConnectionLost`, `DeadlineSpent`. */
void await_more(Connection& connection, int64_t until_ns) {
  switch (connection.inbox.read(connection.socket.descriptor())) {
    case Inbox::Got::kBytes:
      return;
    case Inbox::Got::kClosed:
      throw ConnectionLost("the connection ended before the answer");
    case Inbox::Got::kNothing:
      if (!wait_for(connection.socket.descriptor(), POLLIN, until_ns)) throw DeadlineSpent("no answer in time");
  }
}

/** The length of the answers to `count` sets; nullopt if they are incomplete. Errors: `ConnectionLost`. */
std::optional<size_t> stored_size(std::string_view text, size_t count) {
  size_t used = 0;
  for (; count > 0; count--) {
    size_t end = text.find("\r\n", used);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = text.substr(used, end + 2 - used);
    if (line != kStored && line != kNotStored) {
      throw ConnectionLost("`" + std::string(text.substr(used, end - used)) + "` to a set");
    }
    used = end + 2;
  }
  return used;
}

}  // namespace

Cache::Cache(Records& records, const std::string& domain, const std::vector<Address>& shards)
    : records_(records), id_(registry_id(domain + "-cache")) {
  for (const Address& address : shards) shards_.emplace_back(address);
}

std::optional<std::string> Cache::get(const std::string& key) {
  Values values = ask({key}, kGet);
  auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(std::move(found->second));
}

Values Cache::get_many(const Keys& keys) { return keys.empty() ? Values() : ask(keys, kGetMany); }

std::vector<Cache::Keys> Cache::by_shard(const Keys& keys) const {
  std::vector<Keys> shards(shards_.size());
  for (const std::string& key : keys) shards[shard_of(key, shards.size())].push_back(key);
  return shards;
}

void Cache::ask(uint16_t method, const Keys& questions, const Parse& parse) {
  const Context context = Context::current();
  StoreSpan span(records_, context, id_, method);
  const int64_t until = std::min(context.deadline_ns, now_ns() + kLongestNs);
  std::vector<Pool::Lease> asked(questions.size());

  auto guarded = [&](size_t shard, auto work) {
    try {
      work();
    } catch (const std::exception& error) {
      asked[shard].lose();
      records_.counters.cache_errors++;
      span.failed(Outcome::kFailed);
      log_error("a cache failed", {{"address", shards_[shard].address().text()}, {"error", error.what()}});
    }
  };
  for (size_t shard = 0; shard < questions.size(); shard++) {
    if (questions[shard].empty()) continue;
    guarded(shard, [&] {
      asked[shard] = shards_[shard].take(until);
      asked[shard]->socket.send(questions[shard], "", until);
      span.sent(questions[shard].size());
    });
  }
  for (size_t shard = 0; shard < questions.size(); shard++) {
    if (!asked[shard]) continue;
    guarded(shard, [&] {
      Inbox& inbox = asked[shard]->inbox;
      std::optional<size_t> used;
      while (!(used = parse(shard, inbox.bytes()))) await_more(*asked[shard], until);
      span.answered(*used);
      inbox.consume(*used);
      asked[shard].keep();
    });
  }
}

Values Cache::ask(const Keys& keys, uint16_t method) {
  if (shards_.empty()) return {};
  const std::vector<Keys> shards = by_shard(keys);
  Keys questions(shards.size());
  for (size_t shard = 0; shard < shards.size(); shard++) {
    for (const std::string& key : shards[shard]) questions[shard] += (questions[shard].empty() ? "get " : " ") + key;
    if (!questions[shard].empty()) questions[shard] += "\r\n";
  }
  Values found;
  ask(method, questions, [&](size_t shard, std::string_view text) -> std::optional<size_t> {
    Values values;
    size_t used = 0;
    Answer answer = parse_values(text, values, used);
    if (answer == Answer::kIncomplete) return std::nullopt;
    const Keys& asked = shards[shard];
    bool fits = std::all_of(values.begin(), values.end(), [&](const auto& value) {
      return std::find(asked.begin(), asked.end(), value.first) != asked.end();
    });
    if (answer == Answer::kBad || !fits) throw ConnectionLost("an answer that is none to a get");
    found.merge(values);
    return used;
  });
  records_.counters.cache_hits += static_cast<int64_t>(found.size());
  records_.counters.cache_misses += static_cast<int64_t>(keys.size() - std::min(keys.size(), found.size()));
  return found;
}

void Cache::set(const std::string& key, const std::string& value, int seconds) { set_many({{key, value}}, seconds); }

void Cache::set_many(const Values& values, int seconds) {
  if (values.empty() || shards_.empty()) return;
  Keys questions(shards_.size());
  std::vector<size_t> counts(shards_.size());
  for (const auto& [key, value] : values) {
    const size_t shard = shard_of(key, shards_.size());
    questions[shard] += "set " + key + " 0 " + std::to_string(seconds) + " " + std::to_string(value.size()) + "\r\n";
    questions[shard].append(value).append("\r\n");
    counts[shard]++;
  }
  ask(kInsert, questions, [&](size_t shard, std::string_view text) { return stored_size(text, counts[shard]); });
}

}  // namespace chassis
