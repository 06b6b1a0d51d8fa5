#include "calls.h"
#include "checks.h"
#include "idl/ComposeReview.h"
#include "idl/ReviewRating.h"
#include "jump.h"
#include "service.h"

namespace movies {

/** Checks the stars of a review, and sends them to compose-review. */
class ReviewRatingHandler : public ReviewRatingIf, public chassis::Base {
 public:
  explicit ReviewRatingHandler(chassis::Service& service)
      : Base(service), compose_review_(service.edge("compose-review", "put")) {}

  void upload(RequestId request, int32_t stars) override {
    chassis::check_range("stars", stars, 1, 10);
    Part part;
    part.kind = PartKind::STARS;
    part.number = stars;
    chassis::call(
        service_.records, compose_review_, [&](auto& client) { client.send_put(request, part); },
        [](auto& client) { client.recv_put(); }, chassis::hash_of(request));
  }

 private:
  chassis::To<ComposeReviewClient> compose_review_;
};

}  // namespace movies

int main(int argc, char** argv) {
  return chassis::run<movies::ReviewRatingProcessor, movies::ReviewRatingHandler>(argc, argv, "review-rating");
}
