#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>
#include <xapian.h>

#include "idl/movies_types.h"

namespace movies {

/**
 * Makes the index from a catalogue: lines of movie, title, year, genre, director and plot, between which are tabs. The folder is
 * there as a whole or not at all.
 *
 * Returns how many films it has. Errors: `std::runtime_error`, which names the line.
 */
size_t make_index(const std::string& catalogue, const std::string& folder);

/**
 * Films by their words. A document's number is its film's, so that documents are ordered by rank.
 *
 * Errors: `chassis::Unavailable` if the index is missing or unreadable.
 */
class Index {
 public:
  explicit Index(std::string folder);

  /**
   * Best matches first, by BM25 with more weight on titles; without words all films by rank. Accents and apostrophes do not count,
   * and the last word may be the beginning of one.
   */
  Hits find(const std::string& query, uint32_t start, uint32_t n);
  /** The existing films, in the order of `movies`. */
  std::vector<Hit> titles(const std::vector<MovieId>& movies);

 private:
  using Database = std::unique_ptr<Xapian::Database>;

  template <class Ask>
  auto with_database(Ask ask);

  const std::string folder_;
  std::mutex mutex_;
  /** One is used by one thread at a time, as it is not made for several. */
  std::vector<Database> idle_;
};

}  // namespace movies
