#include "handler.h"
#include "idl/ComposeReview.h"
#include "service.h"

int main(int argc, char** argv) {
  return chassis::run<movies::ComposeReviewProcessor, movies::ComposeReviewHandler>(argc, argv, "compose-review");
}
