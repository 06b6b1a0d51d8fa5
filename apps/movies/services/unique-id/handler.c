#include "handler.h"

#include "ids.h"
#include "mv_movies_types.h"

struct maker {
  struct ids ids;
  struct edge *compose_review;
};

static bool put(const struct maker *maker, const struct request *request, int64_t of, int64_t review, struct failure *failure) {
  ThriftStruct *arguments = g_object_new(MV_TYPE_COMPOSE_REVIEW_PUT_ARGS, NULL);
  ThriftStruct *result = g_object_new(MV_TYPE_COMPOSE_REVIEW_PUT_RESULT, NULL);
  mvPart *part = g_object_new(MV_TYPE_PART, "kind", MV_PART_KIND_ID, "number", review, "text", "", NULL);
  g_object_set(arguments, "request", of, "part", part, NULL);
  // All parts of a request go to the same instance.
  uint64_t hash = hash_of_number(of);
  bool ok = call(request, maker->compose_review, &hash, arguments, result, failure);
  g_object_unref(part);
  g_object_unref(arguments);
  g_object_unref(result);
  return ok;
}

static bool upload(void *self, const struct request *request, ThriftStruct *arguments, ThriftStruct *result,
                   struct failure *failure) {
  struct maker *maker = self;
  int64_t review = ids_next(&maker->ids);
  if (!put(maker, request, MV_UNIQUE_ID_UPLOAD_ARGS(arguments)->request, review, failure)) return false;
  mvUniqueIdUploadResult *answer = MV_UNIQUE_ID_UPLOAD_RESULT(result);
  answer->success = review;
  answer->__isset_success = TRUE;
  return true;
}

static bool begin(struct service *service, void **self, struct failure *failure) {
  static struct maker maker;
  *self = &maker;
  const uint16_t instance = service->config->instance;
  if (instance >= IDS_INSTANCES) {
    return fail_unavailable(failure, "`instance` is %d, and takes 0 to %d, which is what a number has room for", instance,
                            IDS_INSTANCES - 1);
  }
  maker.compose_review = service_edge(service, "compose-review", "put", failure);
  if (!maker.compose_review) return false;
  ids_begin(&maker.ids, instance);
  return true;
}

/** Edges are the service's. */
static void end(void *self) { (void)self; }

static const struct method methods[] = {
    {"upload", mv_unique_id_upload_args_get_type, mv_unique_id_upload_result_get_type, upload},
    {0},
};

const struct program unique_id = {"unique-id", methods, begin, end};
