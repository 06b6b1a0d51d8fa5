#pragma once

#include "calls.h"
#include "idl/ComposeReview.h"
#include "idl/MovieReview.h"
#include "idl/ReviewStorage.h"
#include "idl/UserReview.h"
#include "service.h"
#include "sets.h"

namespace movies {

/** Gathers the five parts of a review, and stores it with the last. */
class ComposeReviewHandler : public ComposeReviewIf, public chassis::Base {
 public:
  explicit ComposeReviewHandler(chassis::Service& service);

  bool put(RequestId request, const Part& part) override;

 private:
  void store(const Review& review);

  chassis::To<ReviewStorageClient> storage_;
  chassis::To<MovieReviewClient> movie_review_;
  chassis::To<UserReviewClient> user_review_;
  Sets sets_;
  const int64_t settled_ns_;
};

}  // namespace movies
