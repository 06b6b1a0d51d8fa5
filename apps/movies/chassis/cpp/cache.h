#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache_text.h"
#include "pool.h"
#include "records.h"

namespace chassis {

/** Units: s. Source: the contract of the application. */
constexpr int kCacheSeconds = 3600;

/**
 * The cache of a domain: memcached or Sphinx, by the classic text protocol, with a shard of the keys on each.
 *
 * A client of one's own, as libmemcached has neither this hash nor a deadline for each question, nor tells when it sent. A cache
 * that fails is a miss: nothing here throws.
 */
class Cache {
 public:
  Cache(Records& records, const std::string& domain, const std::vector<Address>& shards);

  std::optional<std::string> get(const std::string& key);
  /** The values found. */
  Values get_many(const std::vector<std::string>& keys);
  void set(const std::string& key, const std::string& value, int seconds = kCacheSeconds);
  void set_many(const Values& values, int seconds = kCacheSeconds);

 private:
  using Keys = std::vector<std::string>;

  /** The length of a whole answer at the beginning of a text; nullopt if it is incomplete. Errors: `ConnectionLost`. */
  using Parse = std::function<std::optional<size_t>(size_t shard, std::string_view text)>;

  std::vector<Keys> by_shard(const Keys& keys) const;
  /** Sends the question of each shard, if it has one, then reads the answers. */
  void ask(uint16_t method, const Keys& questions, const Parse& parse);
  Values ask(const Keys& keys, uint16_t method);

  Records& records_;
  const uint16_t id_;
  std::deque<Pool> shards_;
};

}  // namespace chassis
