#include "ids.h"

#include <pthread.h>
#include <stdlib.h>

#include "cases.h"

/** 2020-01-01T00:00:00Z. Units: ms since 1970. */
#define EPOCH_MS INT64_C(1577836800000)
#define THREADS 8
#define OF_EACH 50000

static void has_its_parts_in_their_places(void **state) {
  (void)state;
  struct ids ids = {.instance = 1023};
  int64_t id = ids_next_at(&ids, EPOCH_MS + 5);
  assert_int_equal(id >> 22, 5);
  assert_int_equal(id >> 12 & 1023, 1023);
  assert_int_equal(id & 4095, 0);
  assert_int_equal(ids_next_at(&ids, EPOCH_MS + 5), id + 1);
}

static void goes_on_when_the_clock_goes_back(void **state) {
  (void)state;
  struct ids ids = {.instance = 1};
  int64_t last = ids_next_at(&ids, EPOCH_MS + 1000);
  const int64_t walls[] = {EPOCH_MS + 999, EPOCH_MS, EPOCH_MS - 1, 0, -5, EPOCH_MS + 1000, EPOCH_MS + 1001};
  for (size_t at = 0; at < G_N_ELEMENTS(walls); at++) {
    int64_t id = ids_next_at(&ids, walls[at]);
    assert_true(id > last);
    assert_int_equal(id >> 12 & 1023, 1);
    last = id;
  }
}

static void goes_on_when_a_millisecond_is_full(void **state) {
  (void)state;
  struct ids ids = {.instance = 2};
  int64_t last = 0;
  for (int at = 0; at < 3 * 4096; at++) {
    int64_t id = ids_next_at(&ids, EPOCH_MS + 7);
    assert_true(id > last);
    assert_int_equal(id >> 12 & 1023, 2);
    last = id;
  }
  assert_int_equal(last >> 22, 9);
}

struct share {
  struct ids *ids;
  int64_t *made;
};

static void *make_many(void *given) {
  const struct share *share = given;
  for (int at = 0; at < OF_EACH; at++) share->made[at] = ids_next(share->ids);
  return NULL;
}

static int compare(const void *one, const void *other) {
  int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
  return (a > b) - (a < b);
}

static void repeats_none_over_threads_and_a_restart(void **state) {
  (void)state;
  int64_t *made = g_new(int64_t, 2 * THREADS * OF_EACH);
  for (int life = 0; life < 2; life++) {
    struct ids ids;
    ids_begin(&ids, 17);
    pthread_t threads[THREADS];
    struct share shares[THREADS];
    for (int at = 0; at < THREADS; at++) {
      shares[at] = (struct share){&ids, made + (life * THREADS + at) * OF_EACH};
      assert_int_equal(pthread_create(&threads[at], NULL, make_many, &shares[at]), 0);
    }
    for (int at = 0; at < THREADS; at++) pthread_join(threads[at], NULL);
    // The test draws more than the 4096 numbers that a millisecond has room for, so their times run ahead of the
    // clock.
    while (ids_next(&ids) >> 22 > g_get_real_time() / 1000 - EPOCH_MS) g_usleep(1000);
  }
  qsort(made, 2 * THREADS * OF_EACH, sizeof *made, compare);
  for (int at = 1; at < 2 * THREADS * OF_EACH; at++) assert_true(made[at] > made[at - 1]);
  g_free(made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(has_its_parts_in_their_places),
      cmocka_unit_test(goes_on_when_the_clock_goes_back),
      cmocka_unit_test(goes_on_when_a_millisecond_is_full),
      cmocka_unit_test(repeats_none_over_threads_and_a_restart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
