#pragma once

#include <vector>

#include "cache.h"
#include "idl/ReviewStorage.h"
#include "service.h"
#include "store.h"

namespace movies {

/** Keeps reviews by their number. They never change, so each question may be asked again. */
class ReviewStorageHandler : public ReviewStorageIf, public chassis::Base {
 public:
  explicit ReviewStorageHandler(chassis::Service& service);

  void store(const Review& review) override;
  void readMany(std::vector<Review>& found, const std::vector<ReviewId>& reviews) override;

 private:
  chassis::Cache& cache_;
  chassis::Store& store_;
};

}  // namespace movies
