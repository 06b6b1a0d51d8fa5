#include <vector>

#include "calls.h"
#include "checks.h"
#include "idl/MovieReview.h"
#include "idl/ReviewStorage.h"
#include "idl/Reviews.h"
#include "service.h"

namespace movies {

/** A page of the reviews of a film: reads the list's ids, then the reviews. */
class ReviewsHandler : public ReviewsIf, public chassis::Base {
 public:
  explicit ReviewsHandler(chassis::Service& service)
      : Base(service),
        movie_review_(service.edge("movie-review", "page")),
        review_storage_(service.edge("review-storage", "readMany")) {}

  void page(std::vector<Review>& reviews, MovieId movie, int32_t start, int32_t n) override {
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

 private:
  chassis::To<MovieReviewClient> movie_review_;
  chassis::To<ReviewStorageClient> review_storage_;
};

}  // namespace movies

int main(int argc, char** argv) { return chassis::run<movies::ReviewsProcessor, movies::ReviewsHandler>(argc, argv, "reviews"); }
