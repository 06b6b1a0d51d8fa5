#include "handler.h"
#include "idl/ComposePage.h"
#include "service.h"

int main(int argc, char** argv) {
  return chassis::run<movies::ComposePageProcessor, movies::ComposePageHandler>(argc, argv, "compose-page");
}
