#include <cstdio>
#include <string>
#include <vector>

#include "checks.h"
#include "idl/Search.h"
#include "index.h"
#include "service.h"

namespace movies {
namespace {

/** Xapian keeps as many candidates as the end of the requested range; there are at most thousands of films. */
constexpr int32_t kLastStart = 100'000;

/** Makes the index, and no service. Returns the exit status. */
int make_index_only(const std::string& catalogue, const std::string& folder) {
  try {
    printf("%zu films\n", make_index(catalogue, folder));
    return 0;
  } catch (const std::exception& error) {
    fprintf(stderr, "movies-search: %s\n", error.what());
  } catch (const Xapian::Error& error) {
    fprintf(stderr, "movies-search: %s\n", error.get_description().c_str());
  }
  return 1;
}

}  // namespace

/** Finds films by the words of their titles, genres, directors and plots. */
class SearchHandler : public SearchIf, public chassis::Base {
 public:
  explicit SearchHandler(chassis::Service& service) : Base(service), index_(service.config.data + "/index") {}

  void find(Hits& hits, const std::string& query, int32_t start, int32_t n) override {
    chassis::check_range("start", start, 0, kLastStart);
    chassis::check_count(n);
    chassis::check_size("query", query, chassis::kLongestLine);
    hits = index_.find(query, static_cast<uint32_t>(start), static_cast<uint32_t>(n));
  }

  void titles(std::vector<Hit>& hits, const std::vector<MovieId>& movies) override {
    chassis::check_range("the number of movies", static_cast<int64_t>(movies.size()), 0, chassis::kMostListed);
    hits = index_.titles(movies);
  }

 private:
  Index index_;
};

}  // namespace movies

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string("--index")) {
    if (argc == 4) return movies::make_index_only(argv[2], argv[3]);
    fprintf(stderr, "usage: movies-search --index CATALOGUE FOLDER\n");
    return 2;
  }
  return chassis::run<movies::SearchProcessor, movies::SearchHandler>(argc, argv, "search");
}
