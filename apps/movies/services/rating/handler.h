#pragma once

#include "documents.h"
#include "idl/RatingService.h"
#include "service.h"

namespace movies {

/** The mean of the stars that a film was given. */
class RatingHandler : public RatingServiceIf, public chassis::Base {
 public:
  explicit RatingHandler(chassis::Service& service);

  void read(Rating& rating, MovieId movie) override;

 private:
  chassis::Documents ratings_;
};

}  // namespace movies
