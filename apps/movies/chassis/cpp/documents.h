#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cache.h"
#include "failure.h"
#include "store.h"

namespace chassis {

/** nullopt if the text is not a JSON object. */
inline std::optional<nlohmann::json> parse_document(const std::string& text) {
  auto document = nlohmann::json::parse(text, nullptr, false);
  return document.is_object() ? std::optional(std::move(document)) : std::nullopt;
}

/** The same for a stored document. Errors: `Unavailable`, which names the key, for anything else. */
inline nlohmann::json parse_stored(const std::string& text, const std::string& key) {
  if (auto document = parse_document(text)) return *document;
  throw Unavailable("the store has something else than a document at " + key);
}

/** A table whose documents are read through the cache of its domain. */
class Documents {
 public:
  Documents(Cache& cache, Store& store, const char* table, int seconds = kCacheSeconds)
      : cache_(cache), store_(store), table_(table), seconds_(seconds) {}

  /** Errors: as the store's. */
  std::optional<nlohmann::json> read(const std::string& cache_key, const std::string& id) {
    if (auto cached = cache_.get(cache_key)) {
      if (auto document = parse_document(*cached)) return document;
    }
    auto stored = store_.get(table_, id);
    if (!stored) return std::nullopt;
    auto document = parse_stored(*stored, std::string(table_) + " " + id);
    cache_.set(cache_key, *stored, seconds_);
    return document;
  }

 private:
  Cache& cache_;
  Store& store_;
  const char* const table_;
  const int seconds_;
};

}  // namespace chassis
