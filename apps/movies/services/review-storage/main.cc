#include "handler.h"
#include "idl/ReviewStorage.h"
#include "service.h"

int main(int argc, char** argv) {
  return chassis::run<movies::ReviewStorageProcessor, movies::ReviewStorageHandler>(argc, argv, "review-storage");
}
