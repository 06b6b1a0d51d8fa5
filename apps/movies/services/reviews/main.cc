#include "handler.h"
#include "idl/Reviews.h"
#include "service.h"

int main(int argc, char** argv) { return chassis::run<movies::ReviewsProcessor, movies::ReviewsHandler>(argc, argv, "reviews"); }
