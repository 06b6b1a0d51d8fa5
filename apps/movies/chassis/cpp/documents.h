#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cache.h"
#include "store.h"

namespace chassis {

/** nullopt if the text is not a JSON object. */
std::optional<nlohmann::json> parse_document(const std::string& text);

/** The same for a stored document. Errors: `Unavailable`, which names the key, for anything else. */
nlohmann::json parse_stored(const std::string& text, const std::string& key);

/** A table whose documents are read through the cache of its domain. */
class Documents {
 public:
  Documents(Cache& cache, Store& store, const char* table, int seconds = kCacheSeconds)
      : cache_(cache), store_(store), table_(table), seconds_(seconds) {}

  /** Errors: as the store's. */
  std::optional<nlohmann::json> read(const std::string& cache_key, const std::string& id);

 private:
  Cache& cache_;
  Store& store_;
  const char* const table_;
  const int seconds_;
};

}  // namespace chassis
