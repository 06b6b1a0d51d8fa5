#include "documents.h"

#include "failure.h"

namespace chassis {

using nlohmann::json;

std::optional<json> parse_document(const std::string& text) {
  json document = json::parse(text, nullptr, false);
  return document.is_object() ? std::optional(std::move(document)) : std::nullopt;
}

json parse_stored(const std::string& text, const std::string& key) {
  if (auto document = parse_document(text)) return *document;
  throw Unavailable("the store has something else than a document at " + key);
}

std::optional<json> Documents::read(const std::string& cache_key, const std::string& id) {
  if (auto cached = cache_.get(cache_key)) {
    if (auto document = parse_document(*cached)) return document;
  }
  auto stored = store_.get(table_, id);
  if (!stored) return std::nullopt;
  json document = parse_stored(*stored, std::string(table_) + " " + id);
  cache_.set(cache_key, *stored, seconds_);
  return document;
}

}  // namespace chassis
