#include "cache_text.h"

#include "cases.h"

struct taken {
  int count;
  size_t bytes;
  char last_key[16];
};

static bool take(void *context, const char *key, size_t key_size, const char *data, size_t size) {
  struct taken *taken = context;
  (void)data;
  taken->count++;
  taken->bytes += size;
  g_strlcpy(taken->last_key, key, MIN(key_size + 1, sizeof taken->last_key));
  return strncmp(key, "other", 5) != 0;
}

static const char values[] = "VALUE a 0 2\r\nxy\r\nVALUE b:1 7 5 99\r\nEND\r\n\r\nVALUE c 0 0\r\n\r\nEND\r\n";

static void reads_an_answer_however_it_comes(void **state) {
  (void)state;
  for (size_t size = 0; size < sizeof values - 1; size++) {
    char *copy = exact_copy(values, size);
    struct taken taken = {0};
    size_t used;
    assert_int_equal(cache_parse_values(copy, size, take, &taken, &used), CACHE_INCOMPLETE);
    assert_int_equal(taken.count, 0);
    g_free(copy);
  }
  struct taken taken = {0};
  size_t used;
  assert_int_equal(cache_parse_values(values, sizeof values - 1, take, &taken, &used), CACHE_WHOLE);
  assert_int_equal(used, sizeof values - 1);
  assert_int_equal(taken.count, 3);
  assert_int_equal(taken.bytes, 7);
  assert_string_equal(taken.last_key, "c");
}

static void refuses_what_is_no_answer(void **state) {
  (void)state;
  const char *const cases[] = {
      "ERROR\r\n",
      "VALUE\r\n",
      "VALUE a 0\r\n",
      "VALUE a 0 x\r\n",
      "VALUE a 0 -1\r\n",
      "VALUE a 0 99999999\r\n",
      "VALUE a 0 1\r\nxyzEND\r\n",
      "SERVER_ERROR out of memory\r\n",
      "VALUE other 0 0\r\n\r\nEND\r\n",
  };
  for (size_t at = 0; at < G_N_ELEMENTS(cases); at++) {
    struct taken taken = {0};
    size_t used;
    assert_int_equal(cache_parse_values(cases[at], strlen(cases[at]), take, &taken, &used), CACHE_BAD);
  }
  char *endless = g_strnfill(400, 'x');
  size_t used;
  assert_int_equal(cache_parse_values(endless, 400, take, NULL, &used), CACHE_BAD);
  g_free(endless);
}

static void survives_random_bytes(void **state) {
  (void)state;
  uint64_t source = 3;
  for (int round = 0; round < 20000; round++) {
    size_t size = random_byte(&source) % sizeof values, used;
    char *copy = exact_copy(values, size);
    for (size_t at = 0; at < size; at++) {
      if (random_byte(&source) < 16) copy[at] = (char)random_byte(&source);
    }
    struct taken taken = {0};
    cache_parse_values(copy, size, take, &taken, &used);
    cache_parse_stored(copy, size, 3, &used);
    g_free(copy);
  }
}

static void reads_answers_to_sets(void **state) {
  (void)state;
  size_t used;
  const char *two = "STORED\r\nNOT_STORED\r\n";
  assert_int_equal(cache_parse_stored(two, strlen(two), 2, &used), CACHE_WHOLE);
  assert_int_equal(used, strlen(two));
  assert_int_equal(cache_parse_stored(two, strlen(two), 3, &used), CACHE_INCOMPLETE);
  const char *large = "SERVER_ERROR object too large for cache\r\n";
  assert_int_equal(cache_parse_stored(large, strlen(large), 1, &used), CACHE_BAD);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_an_answer_however_it_comes),
      cmocka_unit_test(refuses_what_is_no_answer),
      cmocka_unit_test(survives_random_bytes),
      cmocka_unit_test(reads_answers_to_sets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
