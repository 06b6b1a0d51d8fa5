#include "handler.h"
#include "idl/RatingService.h"
#include "service.h"

int main(int argc, char** argv) {
  return chassis::run<movies::RatingServiceProcessor, movies::RatingHandler>(argc, argv, "rating");
}
