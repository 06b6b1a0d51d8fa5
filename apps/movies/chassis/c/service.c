#include "service.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "log.h"
#include "readiness.h"
#include "server.h"

struct edge *service_edge(struct service *service, const char *callee, const char *method, struct failure *failure) {
  struct edge *edge = g_new0(struct edge, 1);
  if (!edge_open(edge, service->config, callee, method, failure)) {
    g_free(edge);
    return NULL;
  }
  g_ptr_array_add(service->edges, edge);
  return edge;
}

static void free_edge(gpointer edge) {
  edge_close(edge);
  g_free(edge);
}

void service_drain(struct service *service) {
  uint64_t one = 1;
  // It fails only if the counter is full, and then the descriptor is readable as well.
  ssize_t written = write(service->drained, &one, sizeof one);
  (void)written;
}

/** A reason not to go on. */
static int failed(const char *what) {
  log_error(what, NULL);
  return 1;
}

/** The thread that says when the service is ready. */
struct readying {
  struct service *service;
  const char *name;
  _Atomic bool is_stopping;
  int status;
};

static void *make_ready(void *given) {
  struct readying *readying = given;
  struct failure failure;
  if (!await_upstreams(readying->service->config, &readying->is_stopping, &failure)) {
    readying->status = failed(failure.what);
    service_drain(readying->service);
  } else if (!readying->is_stopping) {
    printf("ready %s %s\n", readying->name, readying->service->config->listen->text);
    fflush(stdout);
  }
  return NULL;
}

static int serve(struct service *service, const struct program *program, void *self) {
  struct server server;
  struct failure failure;
  if (!server_open(&server, service, program->methods, self, &failure)) return failed(failure.what);
  struct readying readying = {.service = service, .name = program->name};
  pthread_t thread;
  if (pthread_create(&thread, NULL, make_ready, &readying) != 0) return failed("no thread can be begun");
  server_run(&server);
  readying.is_stopping = true;
  pthread_join(thread, NULL);
  server_close(&server);
  return readying.status;
}

static int run(struct config *config, const struct program *program) {
  struct service service = {.config = config, .edges = g_ptr_array_new_with_free_func(free_edge)};
  struct failure failure;
  void *self = NULL;
  int status = 1;
  service.drained = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (!spans_open(&service.records.spans, config, &failure)) {
    failed(failure.what);
  } else {
    if (program->begin(&service, &self, &failure)) {
      status = serve(&service, program, self);
      program->end(self);
    } else {
      failed(failure.what);
    }
    spans_close(&service.records.spans);
  }
  g_ptr_array_unref(service.edges);
  close(service.drained);
  return status;
}

int chassis_run(int argc, char **argv, const struct program *program) {
  log_name(program->name, 0);
  if (argc != 2) return failed("usage: PROGRAM CONFIGFILE");
  // Threads inherit the mask; the server reads these from a descriptor.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, NULL);
  signal(SIGPIPE, SIG_IGN);
  char *error = NULL;
  struct config *config = config_read(argv[1], &error);
  if (config && strcmp(config->service, program->name) != 0) {
    error = g_strdup_printf("`service` is `%s`, and this program is that of %s", config->service, program->name);
  }
  int status = 1;
  if (error) {
    failed(error);
    g_free(error);
  } else {
    log_name(config->service, config->instance);
    status = run(config, program);
  }
  if (config) config_free(config);
  return status;
}
