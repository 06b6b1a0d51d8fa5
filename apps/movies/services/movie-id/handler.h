#pragma once

#include <string>

#include "calls.h"
#include "documents.h"
#include "idl/ComposeReview.h"
#include "idl/MovieIdService.h"
#include "service.h"

namespace movies {

/** Finds the film of a title, and sends its number to compose-review. */
class MovieIdHandler : public MovieIdServiceIf, public chassis::Base {
 public:
  explicit MovieIdHandler(chassis::Service& service);

  MovieId upload(RequestId request, const std::string& title) override;

 private:
  MovieId find(const std::string& title);

  chassis::Documents titles_;
  chassis::To<ComposeReviewClient> compose_review_;
};

}  // namespace movies
