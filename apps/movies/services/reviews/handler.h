#pragma once

#include <vector>

#include "calls.h"
#include "idl/MovieReview.h"
#include "idl/ReviewStorage.h"
#include "idl/Reviews.h"
#include "service.h"

namespace movies {

/** A page of the reviews of a film: reads the list's ids, then the reviews. */
class ReviewsHandler : public ReviewsIf, public chassis::Base {
 public:
  explicit ReviewsHandler(chassis::Service& service);

  void page(std::vector<Review>& reviews, MovieId movie, int32_t start, int32_t n) override;

 private:
  chassis::To<MovieReviewClient> movie_review_;
  chassis::To<ReviewStorageClient> review_storage_;
};

}  // namespace movies
