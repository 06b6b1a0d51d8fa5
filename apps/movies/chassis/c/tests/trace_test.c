#include "trace.h"

#include "cases.h"

static const char *const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

static void reads_what_it_writes(void **state) {
  (void)state;
  struct trace trace = trace_parse(good, strlen(good));
  assert_true(trace.is_there && trace.is_sampled);
  assert_true(trace.span == 0x00f067aa0ba902b7);
  assert_int_equal(trace.id[0], 0x4b);
  char text[TRACE_TEXT_SIZE + 1];
  trace_write(&trace, text);
  assert_string_equal(text, good);
  trace.is_sampled = false;
  trace_write(&trace, text);
  assert_string_equal(text + 52, "-00");
  assert_false(trace_parse(text, strlen(text)).is_sampled);
}

static void takes_nothing_else(void **state) {
  (void)state;
  const char *const cases[] = {
      "",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011",
      "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902g7-01",
      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
      "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  };
  for (size_t at = 0; at < G_N_ELEMENTS(cases); at++) {
    char *copy = exact_copy(cases[at], strlen(cases[at]));
    struct trace trace = trace_parse(copy, strlen(cases[at]));
    assert_false(trace.is_there || trace.is_sampled);
    g_free(copy);
  }
}

static void makes_spans_that_differ(void **state) {
  (void)state;
  uint64_t last = 0;
  for (int at = 0; at < 100000; at++) {
    uint64_t made = new_span_id();
    assert_true(made != 0 && made != last);
    last = made;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_it_writes),
      cmocka_unit_test(takes_nothing_else),
      cmocka_unit_test(makes_spans_that_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
