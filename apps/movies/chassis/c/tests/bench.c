/** Prints what a call of a service on this machine costs, untraced and traced: the median of rounds that alternate. */

#include <glib.h>
#include <glib/gstdio.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "mv_movies_types.h"
#include "server.h"

#define ROUNDS 40
#define CALLS 2000

static bool put(void *self, const struct request *request, ThriftStruct *arguments, ThriftStruct *result,
                struct failure *failure) {
  (void)self, (void)request, (void)arguments, (void)failure;
  MV_COMPOSE_REVIEW_PUT_RESULT(result)->__isset_success = TRUE;
  return true;
}

static const struct method methods[] = {
    {"put", mv_compose_review_put_args_get_type, mv_compose_review_put_result_get_type, put},
    {0},
};

/** One that was free just now. */
static int free_port(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int one = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(one, (struct sockaddr *)&address, size) != 0 || getsockname(one, (struct sockaddr *)&address, &size) != 0) exit(1);
  close(one);
  return ntohs(address.sin_port);
}

static void *run(void *server) {
  server_run(server);
  return NULL;
}

/** Units: ns for a call. */
static double round_of(struct service *service, struct edge *edge, struct codec *codec, bool is_traced) {
  struct request request = {.records = &service->records, .codec = codec};
  if (is_traced) request.trace = (struct trace){.is_there = true, .is_sampled = true, .id = {1}, .span = 1};
  const int64_t start = now_ns();
  for (int at = 0; at < CALLS; at++) {
    request.deadline_ns = now_ns() + DEFAULT_DEADLINE_NS;
    mvPart *part = g_object_new(MV_TYPE_PART, "kind", MV_PART_KIND_ID, "number", (gint64)at, "text", "", NULL);
    ThriftStruct *arguments = g_object_new(MV_TYPE_COMPOSE_REVIEW_PUT_ARGS, "request", (gint64)at, "part", part, NULL);
    ThriftStruct *result = g_object_new(MV_TYPE_COMPOSE_REVIEW_PUT_RESULT, NULL);
    struct failure failure;
    if (!call(&request, edge, NULL, arguments, result, &failure)) {
      fprintf(stderr, "%s\n", failure.what);
      exit(1);
    }
    g_object_unref(part);
    g_object_unref(arguments);
    g_object_unref(result);
  }
  return (double)(now_ns() - start) / CALLS;
}

static int compare(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

int main(void) {
  char folder[] = "/tmp/movies-c-bench-XXXXXX", *error = NULL;
  if (!g_mkdtemp(folder)) return 1;
  char *spans = g_build_filename(folder, "spans", NULL);
  const int port = free_port();
  char *text = g_strdup_printf(
      "service=compose-review\nid=23\ninstance=0\nlisten=127.0.0.1:%d\nthreads=1\nqueue=8\nspans=%s\nsecret=\ndata=\n"
      "upstream.compose-review=127.0.0.1:%d\n",
      port, spans, port);
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, NULL);
  struct service service = {.config = config_parse(text, "bench", &error), .edges = g_ptr_array_new()};
  service.drained = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct server server;
  struct edge edge;
  struct failure failure;
  if (!service.config || !spans_open(&service.records.spans, service.config, &failure) ||
      !server_open(&server, &service, methods, NULL, &failure) ||
      !edge_open(&edge, service.config, "compose-review", "put", &failure)) {
    fprintf(stderr, "%s\n", error ? error : failure.what);
    return 1;
  }
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, &server) != 0) return 1;
  struct codec *codec = codec_new();
  double untraced[ROUNDS], traced[ROUNDS];
  for (int at = 0; at < ROUNDS; at++) {
    untraced[at] = round_of(&service, &edge, codec, false);
    traced[at] = round_of(&service, &edge, codec, true);
  }
  qsort(untraced, ROUNDS, sizeof *untraced, compare);
  qsort(traced, ROUNDS, sizeof *traced, compare);
  printf("untraced %.2f us a call, traced %.2f us: two spans cost %.2f us\n", untraced[ROUNDS / 2] / 1e3,
         traced[ROUNDS / 2] / 1e3, (traced[ROUNDS / 2] - untraced[ROUNDS / 2]) / 1e3);
  service_drain(&service);
  pthread_join(thread, NULL);
  server_close(&server);
  edge_close(&edge);
  spans_close(&service.records.spans);
  codec_free(codec);
  config_free(service.config);
  g_ptr_array_unref(service.edges);
  close(service.drained);
  g_unlink(spans);
  g_rmdir(folder);
  g_free(spans);
  g_free(text);
  return 0;
}
