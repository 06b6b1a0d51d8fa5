#include "own_methods.h"

#include "clock.h"
#include "mv_movies_types.h"

static bool ping(void *self, const struct request *request, ThriftStruct *arguments, ThriftStruct *result,
                 struct failure *failure) {
  (void)self, (void)request, (void)arguments, (void)failure;
  mvChassisPingResult *pinged = MV_CHASSIS_PING_RESULT(result);
  pinged->success = now_ns();
  pinged->__isset_success = TRUE;
  return true;
}

static bool counters(void *self, const struct request *request, ThriftStruct *arguments, ThriftStruct *result,
                     struct failure *failure) {
  (void)request, (void)arguments, (void)failure;
  struct service *service = self;
  mvChassisCountersResult *counted = MV_CHASSIS_COUNTERS_RESULT(result);
  counters_put_all(counted->success, &service->records.counters);
  counters_put(counted->success, "spans", service->records.spans.count);
  for (guint at = 0; at < service->edges->len; at++) edge_count(counted->success, service->edges->pdata[at]);
  counted->__isset_success = TRUE;
  return true;
}

static bool drain(void *self, const struct request *request, ThriftStruct *arguments, ThriftStruct *result,
                  struct failure *failure) {
  (void)request, (void)arguments, (void)result, (void)failure;
  service_drain(self);
  return true;
}

const struct method own_methods[] = {
    {"ping", mv_chassis_ping_args_get_type, mv_chassis_ping_result_get_type, ping},
    {"counters", mv_chassis_counters_args_get_type, mv_chassis_counters_result_get_type, counters},
    {"drain", mv_chassis_drain_args_get_type, mv_chassis_drain_result_get_type, drain},
    {0},
};
