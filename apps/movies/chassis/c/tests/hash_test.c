#include "hash.h"

#include <stdlib.h>

#include "call.h"
#include "cases.h"

/** The text between the quotes after `name` on a line; NULL for any other line. */
static char *text_of(const char *line, const char *name) {
  const char *at = strstr(line, name);
  if (!at) return NULL;
  const char *begin = strchr(at + strlen(name), '"') + 1;
  return g_strndup(begin, (gsize)(strchr(begin, '"') - begin));
}

/** The vectors of all chassis; the file has one value a line. */
static void agrees_with_the_vectors(void **state) {
  (void)state;
  char *text;
  assert_true(g_file_get_contents(CONTRACT "/vectors.json", &text, NULL, NULL));
  char **lines = g_strsplit(text, "\n", -1);
  uint64_t hash = 0;
  int keys = 0, shards = 0;
  bool is_jump = false;
  for (char **line = lines; *line; line++) {
    char *value = NULL;
    unsigned count, expected;
    if (strstr(*line, "\"jump\":")) is_jump = true;
    if (strstr(*line, "\"title_keys\":")) break;
    if ((value = text_of(*line, "\"key_hex\":"))) {
      GByteArray *key = g_byte_array_new();
      for (const char *at = value; *at; at += 2) {
        char digits[] = {at[0], at[1], 0};
        guint8 byte = (guint8)strtol(digits, NULL, 16);
        g_byte_array_append(key, &byte, 1);
      }
      hash = fnv1a64(key->data, key->len);
      g_byte_array_unref(key);
    } else if ((value = text_of(*line, "\"hash\":"))) {
      assert_true(hash == strtoull(value, NULL, 10));
      keys++;
    } else if (is_jump && (value = text_of(*line, "\"key\":"))) {
      // A number, and not a text that is hashed.
      hash = strtoull(value, NULL, 10);
    } else if (sscanf(*line, " \"%u\": %u", &count, &expected) == 2) {
      assert_int_equal(jump_hash(hash, count), expected);
      shards++;
    }
    g_free(value);
  }
  assert_true(keys >= 5 && shards >= 4 * keys);
  g_strfreev(lines);
  g_free(text);
}

/** One more shard moves keys to it only. */
static void moves_few_keys(void **state) {
  (void)state;
  for (uint64_t key = 0; key < 1000; key++) {
    for (uint32_t shards = 1; shards < 20; shards++) {
      uint32_t before = jump_hash(key * 0x9e3779b97f4a7c15, shards), after = jump_hash(key * 0x9e3779b97f4a7c15, shards + 1);
      assert_true(before < shards);
      assert_true(after == before || after == shards);
    }
  }
}

static void hashes_numbers_as_texts(void **state) {
  (void)state;
  assert_true(hash_of_number(-42) == fnv1a64("-42", 3));
  assert_true(hash_of_number(INT64_MIN) == fnv1a64("-9223372036854775808", 20));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_the_vectors),
      cmocka_unit_test(moves_few_keys),
      cmocka_unit_test(hashes_numbers_as_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
