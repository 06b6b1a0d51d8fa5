#pragma once

#include <stdbool.h>
#include <thrift/c_glib/thrift_struct.h>

#include "call.h"
#include "config.h"
#include "failure.h"
#include "request.h"

/** What all methods of a service share. */
struct service {
  struct config *config;
  struct records records;
  /** The service ends when it is readable. */
  int drained;
  /** struct edge. */
  GPtrArray *edges;
};

/** One method of another service, valid for the service's lifetime. NULL and a failure if not configured. */
struct edge *service_edge(struct service *service, const char *callee, const char *method, struct failure *failure);
/** Ends the service as SIGTERM does. */
void service_drain(struct service *service);

/** Fills `result`, or returns false and fills `failure`. Structures are those that the compiler of Thrift makes of a method. */
typedef bool handle_method(void *self, const struct request *request, ThriftStruct *arguments, ThriftStruct *result,
                           struct failure *failure);

struct method {
  const char *name;
  GType (*arguments)(void);
  GType (*result)(void);
  handle_method *handle;
};

/** A program on the chassis: name, methods, start and end. */
struct program {
  const char *name;
  /** In the order of the registry; the last has no name. */
  const struct method *methods;
  /** Makes `self`. */
  bool (*begin)(struct service *service, void **self, struct failure *failure);
  void (*end)(void *self);
};

/** Serves until SIGTERM, SIGINT or `drain`; what main returns. */
int chassis_run(int argc, char **argv, const struct program *program);
