#include "message.h"

#include "cases.h"
#include "codec.h"
#include "mv_movies_types.h"

static GByteArray *call_of(ThriftStruct *arguments) {
  struct codec *codec = codec_new();
  assert_true(codec_write(codec, "put", T_CALL, 77, arguments));
  GByteArray *copy = g_byte_array_append(g_byte_array_new(), codec->written->data, codec->written->len);
  codec_free(codec);
  return copy;
}

static ThriftStruct *arguments(void) {
  mvPart *part =
      g_object_new(MV_TYPE_PART, "kind", MV_PART_KIND_TEXT, "number", G_GINT64_CONSTANT(-5), "text", "some text", NULL);
  ThriftStruct *made = g_object_new(MV_TYPE_COMPOSE_REVIEW_PUT_ARGS, "request", G_GINT64_CONSTANT(42), "part", part, NULL);
  g_object_unref(part);
  return made;
}

static void reads_what_generated_code_writes(void **state) {
  (void)state;
  ThriftStruct *sent = arguments();
  GByteArray *message = call_of(sent);
  struct message_head head;
  assert_true(message_check((const char *)message->data, message->len, &head));
  assert_int_equal(head.type, MESSAGE_CALL);
  assert_int_equal(head.sequence, 77);
  assert_memory_equal(head.name, "put", 3);
  struct codec *codec = codec_new();
  mvComposeReviewPutArgs *read = g_object_new(MV_TYPE_COMPOSE_REVIEW_PUT_ARGS, NULL);
  assert_true(codec_read(codec, (struct slice){(const char *)message->data, message->len}, THRIFT_STRUCT(read)));
  assert_int_equal(read->request, 42);
  assert_int_equal(read->part->number, -5);
  assert_string_equal(read->part->text, "some text");
  g_object_unref(read);
  g_object_unref(sent);
  codec_free(codec);
  g_byte_array_unref(message);
}

static void refuses_every_other_length(void **state) {
  (void)state;
  ThriftStruct *sent = arguments();
  GByteArray *message = call_of(sent);
  const guint whole = message->len;
  g_byte_array_append(message, (const guint8 *)"\0", 1);
  for (guint size = 0; size <= whole + 1; size++) {
    char *copy = exact_copy(message->data, size);
    struct message_head head;
    assert_int_equal(message_check(copy, size, &head), size == whole);
    g_free(copy);
  }
  g_object_unref(sent);
  g_byte_array_unref(message);
}

/** Generated code reads any message that passes the check. */
static void reads_what_passed_however_it_came_about(void **state) {
  (void)state;
  uint64_t source = 2;
  ThriftStruct *sent = arguments();
  GByteArray *message = call_of(sent);
  struct codec *codec = codec_new();
  int passed = 0;
  for (int round = 0; round < 20000; round++) {
    char *copy = exact_copy(message->data, message->len);
    for (int change = random_byte(&source) % 3; change >= 0; change--)
      copy[random_byte(&source) % message->len] = (char)random_byte(&source);
    struct message_head head;
    if (message_check(copy, message->len, &head)) {
      ThriftStruct *read = g_object_new(MV_TYPE_COMPOSE_REVIEW_PUT_ARGS, NULL);
      codec_read(codec, (struct slice){copy, message->len}, read);
      g_object_unref(read);
      passed++;
    }
    g_free(copy);
  }
  assert_true(passed > 100);
  codec_free(codec);
  g_object_unref(sent);
  g_byte_array_unref(message);
}

/** `depth` structures in each other. */
static bool takes_depth(int depth) {
  GByteArray *message = g_byte_array_new();
  g_byte_array_append(message, (const guint8 *)"\x80\1\0\1\0\0\0\4ping\0\0\0\7", 16);
  for (int at = 0; at < depth; at++) g_byte_array_append(message, (const guint8 *)"\x0c\0\1", 3);
  for (int at = 0; at <= depth; at++) g_byte_array_append(message, (const guint8 *)"\0", 1);
  struct message_head head;
  bool ok = message_check((const char *)message->data, message->len, &head);
  g_byte_array_unref(message);
  return ok;
}

static void refuses_what_is_too_deep(void **state) {
  (void)state;
  assert_true(takes_depth(0));
  assert_true(takes_depth(63));
  assert_false(takes_depth(65));
  assert_false(takes_depth(1000000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_generated_code_writes),
      cmocka_unit_test(refuses_every_other_length),
      cmocka_unit_test(reads_what_passed_however_it_came_about),
      cmocka_unit_test(refuses_what_is_too_deep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
