#include "config.h"

#include "cases.h"

static const char *const whole =
    "# A comment\nservice=photos\nid=11\ninstance=2\nlisten=127.0.0.1:34567\nthreads=8\nqueue=64\nspans=\n"
    "secret=0000000000000000000000000000000000000000000000000000000000000000\ndata=\n";

static void reads_all_keys(void **state) {
  (void)state;
  char *error = NULL;
  char *text =
      g_strconcat(whole,
                  " upstream.compose-review = 127.0.0.1:1, [::1]:2\ncache.movies=a:11211\r\n"
                  "store.movies=postgresql://movies@/movies?host=/run/x&port=5432\ncall.ads.deadline_ms=20\noptional=ads, x\n",
                  NULL);
  struct config *config = config_parse(text, "file", &error);
  assert_null(error);
  assert_string_equal(config->service, "photos");
  assert_int_equal(config->id, 11);
  assert_int_equal(config->instance, 2);
  assert_int_equal(config->listen->port, 34567);
  assert_string_equal(config->listen->text, "127.0.0.1:34567");
  assert_int_equal(config->threads, 8);
  assert_int_equal(config->queue, 64);
  const GPtrArray *replicas = g_hash_table_lookup(config->upstreams, "compose-review");
  assert_int_equal(replicas->len, 2);
  const struct address *second = replicas->pdata[1];
  assert_string_equal(second->host, "::1");
  assert_int_equal(second->port, 2);
  const GPtrArray *uris = g_hash_table_lookup(config->stores, "movies");
  assert_string_equal(uris->pdata[0], "postgresql://movies@/movies?host=/run/x&port=5432");
  assert_int_equal(GPOINTER_TO_INT(g_hash_table_lookup(config->deadlines_ms, "ads")), 20);
  assert_true(g_hash_table_contains(config->optional, "x"));
  config_free(config);
  g_free(text);
}

static void check_error(const char *text, const char *expected) {
  char *error = NULL;
  assert_null(config_parse(text, "file", &error));
  if (!strstr(error, expected)) print_error("expected `%s` in: %s\n", expected, error);
  assert_non_null(strstr(error, expected));
  g_free(error);
}

static void names_what_is_wrong(void **state) {
  (void)state;
  const char *const cases[][2] = {
      {"colour=red\n", "file:11: `colour` is not a key"},        {"upstream.=127.0.0.1:1\n", "`upstream.` is not a key"},
      {"upstream.X=127.0.0.1:1\n", "`upstream.X` is not a key"}, {"call.ads.deadline=1\n", "`call.ads.deadline` is not a key"},
      {"call.ads.deadline_ms=0\n", "takes 1 to 600000"},         {"id=12\n", "`id` is there twice"},
      {"something\n", "`something` is not key=value"},           {"upstream.plot=127.0.0.1\n", "takes HOST:PORT"},
      {"upstream.plot=127.0.0.1:65536\n", "takes 1 to 65535"},   {"upstream.plot=127.0.0.1:1x\n", "takes 1 to 65535"},
      {"cache.movies=,\n", "takes at least one address"},
  };
  for (size_t at = 0; at < G_N_ELEMENTS(cases); at++) {
    char *text = g_strconcat(whole, cases[at][0], NULL);
    check_error(text, cases[at][1]);
    g_free(text);
  }
}

static void names_what_is_missing(void **state) {
  (void)state;
  const char *const keys[] = {"service", "id", "instance", "listen", "threads", "queue", "spans", "secret", "data"};
  for (size_t at = 0; at < G_N_ELEMENTS(keys); at++) {
    char *begin = g_strconcat("\n", keys[at], "=", NULL), *commented = g_strconcat("\n#", keys[at], "=", NULL);
    char **parts = g_strsplit(whole, begin, 2);
    char *text = g_strjoinv(commented, parts);
    char *expected = g_strdup_printf("`%s` is missing", keys[at]);
    check_error(text, expected);
    g_free(expected);
    g_free(text);
    g_strfreev(parts);
    g_free(begin);
    g_free(commented);
  }
}

static void does_not_tell_the_secret(void **state) {
  (void)state;
  char *error = NULL;
  assert_null(config_parse("secret=hunter2\n", "file", &error));
  assert_null(strstr(error, "hunter2"));
  g_free(error);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_all_keys),
      cmocka_unit_test(names_what_is_wrong),
      cmocka_unit_test(names_what_is_missing),
      cmocka_unit_test(does_not_tell_the_secret),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
