#include "handler.h"
#include "idl/ReviewRating.h"
#include "service.h"

int main(int argc, char** argv) {
  return chassis::run<movies::ReviewRatingProcessor, movies::ReviewRatingHandler>(argc, argv, "review-rating");
}
