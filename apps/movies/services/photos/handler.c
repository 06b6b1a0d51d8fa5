// Pictures from a film.

#include <inttypes.h>
#include <stdio.h>

#include "chassis.h"

static struct cache *cache;
static struct store *pictures;

static bool begin(struct service *service) {
  return (cache = service_cache(service, "movies")) && (pictures = service_store(service, "movies"));
}

/** From the cache, and missing ones from the store, which then fill the cache: one query each. */
static bool read_photos(struct request *request, int64_t movie, int32_t n, struct bytes **found) {
  if (!check_range(request, "n", n, 0, MOST_LISTED)) return false;
  struct key keys[MOST_LISTED], ids[MOST_LISTED];
  struct bytes *fresh[MOST_LISTED];
  for (int at = 0; at < n; at++) {
    snprintf(keys[at].text, sizeof keys[at].text, "photo:%" PRId64 ":%d", movie, at);
    snprintf(ids[at].text, sizeof ids[at].text, "p:%" PRId64 ":%d", movie, at);
  }
  cache_get(request, cache, keys, found, n);
  bool was_there[MOST_LISTED];
  for (int at = 0; at < n; at++) was_there[at] = found[at];
  if (!store_get(request, pictures, "pictures", ids, found, n)) return false;
  for (int at = 0; at < n; at++) fresh[at] = was_there[at] ? NULL : found[at];
  cache_set(cache, keys, fresh, n);
  return true;
}

int main(int argc, char **argv) {
  const struct photos_methods methods = {begin, read_photos};
  return photos_run(argc, argv, &methods);
}
