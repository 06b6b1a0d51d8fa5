#include "handler.h"

#include "checks.h"

namespace movies {

ReviewsHandler::ReviewsHandler(chassis::Service& service)
    : Base(service),
      movie_review_(service.edge("movie-review", "page")),
      review_storage_(service.edge("review-storage", "readMany")) {}

void ReviewsHandler::page(std::vector<Review>& reviews, MovieId movie, int32_t start, int32_t n) {
  chassis::check_start(start);
  chassis::check_count(n);
  std::vector<ReviewId> ids;
  chassis::call(
      service_.records, movie_review_, [&](auto& client) { client.send_page(movie, start, n); },
      [&](auto& client) { client.recv_page(ids); });
  if (ids.empty()) return;
  chassis::call(
      service_.records, review_storage_, [&](auto& client) { client.send_readMany(ids); },
      [&](auto& client) { client.recv_readMany(reviews); });
}

}  // namespace movies
