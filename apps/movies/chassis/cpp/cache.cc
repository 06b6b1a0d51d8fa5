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

/** Reads until `parse` has enough. Errors: `ConnectionLost`, `DeadlineSpent`. */
template <class Parse>
void read_until(Connection& connection, int64_t until_ns, Parse parse) {
  while (!parse(connection.inbox)) {
    switch (connection.inbox.read(connection.socket.descriptor())) {
      case Inbox::Got::kBytes:
        break;
      case Inbox::Got::kClosed:
        throw ConnectionLost("the connection ended before the answer");
      case Inbox::Got::kNothing:
        if (!wait_for(connection.socket.descriptor(), POLLIN, until_ns)) throw DeadlineSpent("no answer in time");
    }
  }
}

/** Whether the answers to `count` questions are there, which then are used up. */
bool take_stored(Inbox& inbox, size_t& count) {
  while (count > 0) {
    std::string_view text = inbox.bytes();
    size_t end = text.find("\r\n");
    if (end == std::string_view::npos) return false;
    std::string_view line = text.substr(0, end + 2);
    if (line != kStored && line != kNotStored) throw ConnectionLost("`" + std::string(line.substr(0, end)) + "` to a set");
    inbox.consume(line.size());
    count--;
  }
  return true;
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

Values Cache::ask(const Keys& keys, uint16_t method) {
  const Context context = Context::current();
  StoreSpan span(records_, context, id_, method);
  const int64_t until = std::min(context.deadline_ns, now_ns() + kLongestNs);
  const std::vector<Keys> shards = by_shard(keys);
  std::vector<Pool::Lease> asked(shards.size());
  Values found;

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
  for (size_t shard = 0; shard < shards.size(); shard++) {
    if (shards[shard].empty()) continue;
    guarded(shard, [&] {
      asked[shard] = shards_[shard].take(until);
      std::string question = "get";
      for (const std::string& key : shards[shard]) question += " " + key;
      question += "\r\n";
      asked[shard]->socket.send(question, "", until);
      span.sent(question.size());
    });
  }
  for (size_t shard = 0; shard < shards.size(); shard++) {
    if (!asked[shard]) continue;
    guarded(shard, [&] {
      Values values;
      size_t used = 0;
      read_until(*asked[shard], until, [&](Inbox& inbox) {
        Answer answer = parse_values(inbox.bytes(), values, used);
        if (answer == Answer::kBad) throw ConnectionLost("an answer that is none to a get");
        return answer == Answer::kWhole;
      });
      span.answered(used);
      asked[shard]->inbox.consume(used);
      asked[shard].keep();
      found.merge(values);
    });
  }
  records_.counters.cache_hits += static_cast<int64_t>(found.size());
  records_.counters.cache_misses += static_cast<int64_t>(keys.size() - std::min(keys.size(), found.size()));
  return found;
}

void Cache::set(const std::string& key, const std::string& value, int seconds) { set_many({{key, value}}, seconds); }

void Cache::set_many(const Values& values, int seconds) {
  if (values.empty()) return;
  const Context context = Context::current();
  StoreSpan span(records_, context, id_, kInsert);
  const int64_t until = std::min(context.deadline_ns, now_ns() + kLongestNs);
  Keys keys;
  for (const auto& [key, value] : values) keys.push_back(key);
  const std::vector<Keys> shards = by_shard(keys);
  for (size_t shard = 0; shard < shards.size(); shard++) {
    if (shards[shard].empty()) continue;
    try {
      Pool::Lease connection = shards_[shard].take(until);
      std::string text;
      for (const std::string& key : shards[shard]) {
        const std::string& value = values.at(key);
        text += "set " + key + " 0 " + std::to_string(seconds) + " " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
      }
      connection->socket.send(text, "", until);
      span.sent(text.size());
      size_t left = shards[shard].size();
      read_until(*connection, until, [&](Inbox& inbox) { return take_stored(inbox, left); });
      span.answered(kStored.size() * shards[shard].size());
      connection.keep();
    } catch (const std::exception& error) {
      records_.counters.cache_errors++;
      span.failed(Outcome::kFailed);
      log_error("a cache failed", {{"address", shards_[shard].address().text()}, {"error", error.what()}});
    }
  }
}

}  // namespace chassis
