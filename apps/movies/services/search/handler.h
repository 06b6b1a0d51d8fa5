#pragma once

#include <string>
#include <vector>

#include "idl/Search.h"
#include "index.h"
#include "service.h"

namespace movies {

/** Finds films by the words of their titles, genres, directors and plots. */
class SearchHandler : public SearchIf, public chassis::Base {
 public:
  explicit SearchHandler(chassis::Service& service);

  void find(Hits& hits, const std::string& query, int32_t start, int32_t n) override;
  void titles(std::vector<Hit>& hits, const std::vector<MovieId>& movies) override;

 private:
  Index index_;
};

}  // namespace movies
