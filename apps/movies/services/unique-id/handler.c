// Makes the number of a review, and sends it to compose-review.

#include "chassis.h"
#include "ids.h"

static struct ids ids;
static struct edge *compose_review;

static bool begin(struct service *service) {
  const int instance = service_instance(service);
  if (instance >= IDS_INSTANCES) {
    return service_fail(service, "`instance` is %d, and takes 0 to %d, which is what a number has room for", instance,
                        IDS_INSTANCES - 1);
  }
  compose_review = service_edge(service, "compose-review", "put");
  if (!compose_review) return false;
  ids_begin(&ids, (uint16_t)instance);
  return true;
}

static bool upload(struct request *request, int64_t review_request, int64_t *review) {
  *review = ids_next(&ids);
  return put_number(request, compose_review, review_request, PART_ID, *review);
}

int main(int argc, char **argv) {
  const struct unique_id_methods methods = {begin, upload};
  return unique_id_run(argc, argv, &methods);
}
