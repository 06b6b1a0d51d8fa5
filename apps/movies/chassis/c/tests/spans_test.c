#include "spans.h"

#include <glib/gstdio.h>
#include <unistd.h>

#include "cases.h"

/** Source: the contract of the application. */
static void lies_as_it_is_specified(void **state) {
  (void)state;
  const struct {
    size_t is, must_be;
  } places[] = {
      {offsetof(struct span, service), 4},
      {offsetof(struct span, instance), 6},
      {offsetof(struct span, peer), 8},
      {offsetof(struct span, method), 10},
      {offsetof(struct span, kind), 12},
      {offsetof(struct span, outcome), 13},
      {offsetof(struct span, flags), 14},
      {offsetof(struct span, trace), 16},
      {offsetof(struct span, span), 32},
      {offsetof(struct span, parent), 40},
      {offsetof(struct span, stamps), 48},
      {offsetof(struct span, cpu_ns), 96},
      {offsetof(struct span, bytes_in), 104},
      {offsetof(struct span, bytes_out), 108},
      {offsetof(struct span_file_head, version), 4},
      {offsetof(struct span_file_head, service), 6},
      {offsetof(struct span_file_head, instance), 8},
      {offsetof(struct span_file_head, boot_id), 16},
      {offsetof(struct span_file_head, wall_offset_ns), 56},
      {offsetof(struct span_file_head, pid), 64},
  };
  for (size_t at = 0; at < G_N_ELEMENTS(places); at++) assert_int_equal(places[at].is, places[at].must_be);
}

#define THREADS 4
/** More than a buffer, and not a multiple of it. */
#define OF_EACH 1000

static void *add_many(void *given) {
  for (int at = 0; at < OF_EACH; at++) {
    struct span span = {.span = 1 + (uint64_t)at, .stamps = {5, 3, 9}};
    spans_add(given, &span);
  }
  return NULL;
}

static void writes_spans_of_all_threads(void **state) {
  (void)state;
  char folder[] = "/tmp/movies-c-spans-XXXXXX";
  assert_non_null(g_mkdtemp(folder));
  char *path = g_build_filename(folder, "spans", NULL);
  struct config config = {.id = 7, .instance = 3, .spans = path};
  struct spans spans;
  struct failure failure;
  assert_true(spans_open(&spans, &config, &failure));
  pthread_t threads[THREADS];
  for (int at = 0; at < THREADS; at++) assert_int_equal(pthread_create(&threads[at], NULL, add_many, &spans), 0);
  for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
  assert_int_equal(spans.count, THREADS * OF_EACH);
  spans_close(&spans);

  char *bytes;
  gsize size;
  assert_true(g_file_get_contents(path, &bytes, &size, NULL));
  assert_int_equal(size, 128 * (1 + THREADS * OF_EACH));
  const struct span_file_head *head = (const void *)bytes;
  assert_memory_equal(head, "SPH1", 4);
  assert_int_equal(head->version, 1);
  assert_int_equal(head->service, 7);
  assert_int_equal(head->instance, 3);
  assert_int_equal(head->boot_id[8], '-');
  assert_int_equal(head->pid, getpid());
  int sum = 0;
  for (int at = 1; at <= THREADS * OF_EACH; at++) {
    const struct span *span = (const void *)(bytes + 128 * at);
    assert_memory_equal(span, "SPN1", 4);
    assert_int_equal(span->service, 7);
    // Stages that were not reached take no time.
    const int64_t stamps[] = {5, 5, 9, 9, 9, 9};
    assert_memory_equal(span->stamps, stamps, sizeof stamps);
    sum += (int)span->span;
  }
  assert_int_equal(sum, THREADS * OF_EACH * (OF_EACH + 1) / 2);
  g_free(bytes);
  g_unlink(path);
  g_rmdir(folder);
  g_free(path);
}

static void writes_none_without_a_file(void **state) {
  (void)state;
  struct config config = {.spans = (char *)""};
  struct spans spans;
  struct failure failure;
  assert_true(spans_open(&spans, &config, &failure));
  add_many(&spans);
  assert_int_equal(spans.count, 0);
  spans_close(&spans);
}

static void names_a_file_that_cannot_be_made(void **state) {
  (void)state;
  struct config config = {.spans = (char *)"/nowhere/spans"};
  struct spans spans;
  struct failure failure;
  assert_false(spans_open(&spans, &config, &failure));
  assert_non_null(strstr(failure.what, "/nowhere/spans"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lies_as_it_is_specified),
      cmocka_unit_test(writes_spans_of_all_threads),
      cmocka_unit_test(writes_none_without_a_file),
      cmocka_unit_test(names_a_file_that_cannot_be_made),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
