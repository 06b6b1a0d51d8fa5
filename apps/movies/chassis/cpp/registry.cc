#include "registry.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace chassis {
namespace {

struct Row {
  std::string_view name;
  uint16_t id;
  std::vector<std::string_view> methods;
};

/** The services in C and C++, their callees, and the stores. */
const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"compose-page", 4, {"compose"}},
      {"movie-info", 5, {"read", "readMany"}},
      {"plot", 6, {"read"}},
      {"thumbnail", 7, {"read"}},
      {"rating", 8, {"read"}},
      {"cast-info", 9, {"read"}},
      {"reviews", 10, {"page"}},
      {"photos", 11, {"read"}},
      {"videos", 12, {"read"}},
      {"movie-recommender", 13, {"like"}},
      {"unique-id", 19, {"upload"}},
      {"movie-id", 20, {"upload"}},
      {"review-rating", 22, {"upload"}},
      {"compose-review", 23, {"put"}},
      {"review-storage", 24, {"store", "readMany"}},
      {"movie-review", 25, {"append", "page"}},
      {"user-review", 26, {"append", "page"}},
      {"search", 29, {"find", "titles"}},
      {"movies-cache", 32, {}},
      {"movies-db", 33, {}},
      {"reviews-cache", 34, {}},
      {"users-cache", 35, {}},
      {"reviews-db", 36, {}},
      {"users-db", 37, {}},
  };
  return all;
}

const Row& row(std::string_view name) {
  for (const Row& row : rows()) {
    if (row.name == name) return row;
  }
  throw std::invalid_argument("`" + std::string(name) + "` is not a service or store that the registry of C++ has");
}

}  // namespace

uint16_t registry_id(std::string_view name) { return row(name).id; }

int find_method(std::string_view service, std::string_view method) {
  const auto& methods = row(service).methods;
  auto found = std::find(methods.begin(), methods.end(), method);
  return found == methods.end() ? -1 : static_cast<int>(found - methods.begin());
}

uint16_t registry_method(std::string_view service, std::string_view method) {
  int place = find_method(service, method);
  if (place < 0) {
    throw std::invalid_argument("`" + std::string(method) + "` is not a method of " + std::string(service));
  }
  return static_cast<uint16_t>(place);
}

bool is_idempotent(std::string_view method) {
  for (std::string_view one : {"read", "readMany", "page", "like", "append", "store", "compose", "find", "titles", "ping"}) {
    if (one == method) return true;
  }
  return false;
}

}  // namespace chassis
