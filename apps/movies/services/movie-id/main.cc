#include "handler.h"
#include "idl/MovieIdService.h"
#include "service.h"

int main(int argc, char** argv) {
  return chassis::run<movies::MovieIdServiceProcessor, movies::MovieIdHandler>(argc, argv, "movie-id");
}
