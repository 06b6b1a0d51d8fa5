#include "handler.h"

#include "checks.h"

namespace movies {
namespace {

/** Xapian keeps as many candidates as the end of the requested range; there are at most thousands of films. */
constexpr int32_t kLastStart = 100'000;

}  // namespace

SearchHandler::SearchHandler(chassis::Service& service) : Base(service), index_(service.config.data + "/index") {}

void SearchHandler::find(Hits& hits, const std::string& query, int32_t start, int32_t n) {
  chassis::check_range("start", start, 0, kLastStart);
  chassis::check_count(n);
  chassis::check_size("query", query, chassis::kLongestLine);
  hits = index_.find(query, static_cast<uint32_t>(start), static_cast<uint32_t>(n));
}

void SearchHandler::titles(std::vector<Hit>& hits, const std::vector<MovieId>& movies) {
  chassis::check_range("the number of movies", static_cast<int64_t>(movies.size()), 0, chassis::kMostListed);
  hits = index_.titles(movies);
}

}  // namespace movies
