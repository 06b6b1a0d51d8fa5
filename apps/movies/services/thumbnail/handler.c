// The picture that stands for a film.

#include <inttypes.h>
#include <stdio.h>

#include "chassis.h"

static struct cache *cache;
static struct store *pictures;

static bool begin(struct service *service) {
  return (cache = service_cache(service, "movies")) && (pictures = service_store(service, "movies"));
}

static bool read_picture(struct request *request, int64_t movie, struct bytes **picture) {
  struct key key, id;
  snprintf(key.text, sizeof key.text, "thumb:%" PRId64, movie);
  snprintf(id.text, sizeof id.text, "t:%" PRId64, movie);
  if (!find_bytes(request, cache, &key, pictures, "pictures", &id, picture, 1)) return false;
  return *picture || refuse(request, CODE_NOT_FOUND, "movie %" PRId64 " has no thumbnail", movie);
}

int main(int argc, char **argv) {
  const struct thumbnail_methods methods = {begin, read_picture};
  return thumbnail_run(argc, argv, &methods);
}
