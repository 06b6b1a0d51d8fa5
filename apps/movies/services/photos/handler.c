// Pictures from a film.

#include <inttypes.h>
#include <stdio.h>

#include "chassis.h"

static struct cache *cache;
static struct store *pictures;

static bool begin(struct service *service) {
  return (cache = service_cache(service, "movies")) && (pictures = service_store(service, "movies"));
}

static bool read_photos(struct request *request, int64_t movie, int32_t n, struct bytes **found) {
  if (!check_range(request, "n", n, 0, MOST_LISTED)) return false;
  struct key keys[MOST_LISTED], ids[MOST_LISTED];
  for (int at = 0; at < n; at++) {
    snprintf(keys[at].text, sizeof keys[at].text, "photo:%" PRId64 ":%d", movie, at);
    snprintf(ids[at].text, sizeof ids[at].text, "p:%" PRId64 ":%d", movie, at);
  }
  return find_bytes(request, cache, keys, pictures, "pictures", ids, found, n);
}

int main(int argc, char **argv) {
  const struct photos_methods methods = {begin, read_photos};
  return photos_run(argc, argv, &methods);
}
