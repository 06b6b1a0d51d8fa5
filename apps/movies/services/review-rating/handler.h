#pragma once

#include "calls.h"
#include "idl/ComposeReview.h"
#include "idl/ReviewRating.h"
#include "service.h"

namespace movies {

/** Checks the stars of a review, and sends them to compose-review. */
class ReviewRatingHandler : public ReviewRatingIf, public chassis::Base {
 public:
  explicit ReviewRatingHandler(chassis::Service& service);

  void upload(RequestId request, int32_t stars) override;

 private:
  chassis::To<ComposeReviewClient> compose_review_;
};

}  // namespace movies
