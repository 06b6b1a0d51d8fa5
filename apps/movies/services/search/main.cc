#include <cstdio>
#include <string>

#include "handler.h"
#include "service.h"

namespace {

/** Makes the index, and no service. Returns the exit status. */
int make_index(const std::string& catalogue, const std::string& folder) {
  try {
    printf("%zu films\n", movies::make_index(catalogue, folder));
    return 0;
  } catch (const std::exception& error) {
    fprintf(stderr, "movies-search: %s\n", error.what());
  } catch (const Xapian::Error& error) {
    fprintf(stderr, "movies-search: %s\n", error.get_description().c_str());
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string("--index")) {
    if (argc == 4) return make_index(argv[2], argv[3]);
    fprintf(stderr, "usage: movies-search --index CATALOGUE FOLDER\n");
    return 2;
  }
  return chassis::run<movies::SearchProcessor, movies::SearchHandler>(argc, argv, "search");
}
