#include "handler.h"

#include <inttypes.h>
#include <stdio.h>

#include "cache.h"
#include "mv_movies_types.h"
#include "store.h"

/** Pictures do not change. Source: the contract of the application. Units: s. */
#define KEPT_S 3600

struct thumbnails {
  struct cache cache;
  struct store pictures;
};

static bool read_picture(void *self, const struct request *request, ThriftStruct *arguments, ThriftStruct *result,
                         struct failure *failure) {
  struct thumbnails *thumbnails = self;
  const int64_t movie = MV_THUMBNAIL_READ_ARGS(arguments)->movie;
  char key[32], id[32];
  snprintf(key, sizeof key, "thumb:%" PRId64, movie);
  snprintf(id, sizeof id, "t:%" PRId64, movie);
  char *keys[] = {key}, *ids[] = {id};
  GByteArray *picture = NULL;
  cache_get(request, &thumbnails->cache, keys, &picture, 1);
  if (!picture) {
    if (!store_get(request, &thumbnails->pictures, ids, &picture, 1, failure)) return false;
    if (!picture) return refuse(failure, MV_CODE_NOT_FOUND, "movie %" PRId64 " has no thumbnail", movie);
    cache_set(request, &thumbnails->cache, keys, &picture, 1, KEPT_S);
  }
  mvThumbnailReadResult *answer = MV_THUMBNAIL_READ_RESULT(result);
  g_clear_pointer(&answer->success, g_byte_array_unref);
  answer->success = picture;
  answer->__isset_success = TRUE;
  return true;
}

static bool begin(struct service *service, void **self, struct failure *failure) {
  static struct thumbnails thumbnails;
  *self = &thumbnails;
  return cache_open(&thumbnails.cache, service->config, "movies", failure) &&
         store_open(&thumbnails.pictures, service->config, "movies", "pictures", "data", failure);
}

static void end(void *self) {
  struct thumbnails *thumbnails = self;
  cache_close(&thumbnails->cache);
  store_close(&thumbnails->pictures);
}

static const struct method methods[] = {
    {"read", mv_thumbnail_read_args_get_type, mv_thumbnail_read_result_get_type, read_picture},
    {0},
};

const struct program thumbnail = {"thumbnail", methods, begin, end};
