#include "handler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cache.h"
#include "mv_movies_types.h"
#include "store.h"

/** Pictures do not change. Source: the contract of the application. Units: s. */
#define KEPT_S 3600

struct albums {
  struct cache cache;
  struct store pictures;
};

/** Photos of one film by their places, from 0 on. */
struct photos {
  guint count;
  char key_texts[MOST_LISTED][48], id_texts[MOST_LISTED][48];
  char *keys[MOST_LISTED], *ids[MOST_LISTED];
  /** NULL: there is none. */
  GByteArray *data[MOST_LISTED];
  /** Photos that the cache lacks. */
  GByteArray *fresh[MOST_LISTED];
};

static void name(struct photos *found, int64_t movie, guint count) {
  found->count = count;
  for (guint at = 0; at < count; at++) {
    found->keys[at] = found->key_texts[at];
    found->ids[at] = found->id_texts[at];
    snprintf(found->keys[at], sizeof found->key_texts[at], "photo:%" PRId64 ":%u", movie, at);
    snprintf(found->ids[at], sizeof found->id_texts[at], "p:%" PRId64 ":%u", movie, at);
  }
}

/** From the cache, and missing ones from the store, which then fill the cache: one query each. */
static bool fetch(struct albums *albums, const struct request *request, struct photos *found, struct failure *failure) {
  cache_get(request, &albums->cache, found->keys, found->data, found->count);
  bool was_there[MOST_LISTED];
  for (guint at = 0; at < found->count; at++) was_there[at] = found->data[at];
  if (!store_get(request, &albums->pictures, found->ids, found->data, found->count, failure)) return false;
  for (guint at = 0; at < found->count; at++) found->fresh[at] = was_there[at] ? NULL : found->data[at];
  cache_set(request, &albums->cache, found->keys, found->fresh, found->count, KEPT_S);
  return true;
}

static bool read_photos(void *self, const struct request *request, ThriftStruct *arguments, ThriftStruct *result,
                        struct failure *failure) {
  const mvPhotosReadArgs *asked = MV_PHOTOS_READ_ARGS(arguments);
  if (!check_range(failure, "n", asked->n, 0, MOST_LISTED)) return false;
  struct photos found;
  memset(&found, 0, sizeof found);
  name(&found, asked->movie, (guint)asked->n);
  bool ok = fetch(self, request, &found, failure);
  mvPhotosReadResult *answer = MV_PHOTOS_READ_RESULT(result);
  for (guint at = 0; at < found.count; at++) {
    // The list owns the photos, sent or not.
    if (found.data[at]) g_ptr_array_add(answer->success, found.data[at]);
  }
  answer->__isset_success = ok;
  return ok;
}

static bool begin(struct service *service, void **self, struct failure *failure) {
  static struct albums albums;
  *self = &albums;
  return cache_open(&albums.cache, service->config, "movies", failure) &&
         store_open(&albums.pictures, service->config, "movies", "pictures", "data", failure);
}

static void end(void *self) {
  struct albums *albums = self;
  cache_close(&albums->cache);
  store_close(&albums->pictures);
}

static const struct method methods[] = {
    {"read", mv_photos_read_args_get_type, mv_photos_read_result_get_type, read_photos},
    {0},
};

const struct program photos = {"photos", methods, begin, end};
