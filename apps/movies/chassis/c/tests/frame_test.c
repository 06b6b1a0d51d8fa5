#include "frame.h"

#include "cases.h"
#include "golden.h"
#include "histogram.h"
#include "inbox.h"
#include "message.h"

static bool slice_is(struct slice slice, const char *text) {
  return slice.size == strlen(text) && !memcmp(slice.data, text, slice.size);
}

/** As the server takes it: the length, the frame, the message. */
static void takes_golden_frames(void **state) {
  (void)state;
  GPtrArray *all = golden_all();
  for (guint at = 0; at < all->len; at++) {
    const struct golden *golden = all->pdata[at];
    char *copy = exact_copy(golden->bytes->data, golden->bytes->len);
    struct inbox inbox = {copy, 0, golden->bytes->len, golden->bytes->len};
    const char *body;
    size_t size;
    struct frame frame;
    struct message_head head;
    bool is_frame = inbox_peek(&inbox, &body, &size) == INBOX_FRAME && frame_parse(body, size, &frame);
    bool is_message = is_frame && message_check(frame.message.data, frame.message.size, &head);
    bool is_accepted = is_message && (head.type == MESSAGE_CALL || golden->is_accepted);
    if (is_accepted != golden->is_accepted) print_error("%s is %staken\n", golden->name, is_accepted ? "" : "not ");
    assert_int_equal(is_accepted, golden->is_accepted);
    g_free(copy);
  }
  g_ptr_array_unref(all);
}

static void reads_what_it_wrote(void **state) {
  (void)state;
  GByteArray *out = g_byte_array_new();
  const char *message = "\x80message";
  for (size_t count = 0; count <= 3; count++) {
    struct pair pairs[] = {{"d", "250"}, {"s", "1,2,3"}, {"traceparent", "00-x"}};
    frame_header(out, 0xfedcba98, pairs, count, strlen(message));
    g_byte_array_append(out, (const guint8 *)message, (guint)strlen(message));
    char *copy = exact_copy(out->data, out->len);
    struct frame frame;
    assert_true(frame_parse(copy + 4, out->len - 4, &frame));
    assert_true(frame.has_header);
    assert_int_equal(frame.sequence, 0xfedcba98);
    assert_true(slice_is(frame.message, message));
    assert_true(slice_is(frame.deadline, count > 0 ? "250" : ""));
    assert_true(slice_is(frame.times, count > 1 ? "1,2,3" : ""));
    assert_true(slice_is(frame.traceparent, count > 2 ? "00-x" : ""));
    g_free(copy);
  }
  g_byte_array_unref(out);
}

static void survives_random_bytes(void **state) {
  (void)state;
  uint64_t source = 1;
  GPtrArray *all = golden_all();
  for (int round = 0; round < 20000; round++) {
    // Half of them are golden frames with a few other bytes.
    const struct golden *golden = all->pdata[(guint)round % all->len];
    size_t size = round % 2 ? MIN(golden->bytes->len, 4096) : random_byte(&source);
    char *bytes = round % 2 ? exact_copy(golden->bytes->data, size) : g_malloc0(size + 1);
    for (size_t at = 0; at < size; at++) {
      if (round % 2 == 0 || random_byte(&source) < 4) bytes[at] = (char)random_byte(&source);
    }
    if (round % 2 == 0 && size >= 2) bytes[0] = 0x0f, bytes[1] = (char)0xff;
    size_t begin = round % 2 ? MIN(size, 4) : 0;
    char *copy = exact_copy(bytes + begin, size - begin);
    struct frame frame;
    struct message_head head;
    if (frame_parse(copy, size - begin, &frame)) message_check(frame.message.data, frame.message.size, &head);
    g_free(copy);
    g_free(bytes);
  }
  g_ptr_array_unref(all);
}

static void reads_times(void **state) {
  (void)state;
  int64_t times[3];
  const char *good = "7,1099511627776,999999999999999999";
  assert_true(parse_times((struct slice){good, strlen(good)}, times));
  assert_true(times[0] == 7 && times[1] == INT64_C(1) << 40 && times[2] == INT64_C(999999999999999999));
  const char *const bad[] = {"",        "1",      "1,2",    "1,2,",  ",2,3", "1,2,3,",
                             "1,2,3,4", "-1,2,3", "1 ,2,3", "1,2,x", "1,,3", "1,2,1000000000000000000"};
  for (size_t at = 0; at < G_N_ELEMENTS(bad); at++) assert_false(parse_times((struct slice){bad[at], strlen(bad[at])}, times));
}

static void has_buckets_of_an_eighth(void **state) {
  (void)state;
  const struct {
    uint64_t ns;
    int bucket;
  } cases[] = {{0, 0}, {7, 7}, {8, 8}, {15, 15}, {16, 16}, {17, 16}, {18, 17}, {31, 23}, {32, 24}, {35, 24}, {36, 25}, {1000, 63}};
  for (size_t at = 0; at < G_N_ELEMENTS(cases); at++) assert_int_equal(histogram_bucket(cases[at].ns), cases[at].bucket);
  assert_int_equal(histogram_bucket(HISTOGRAM_MOST - 1), HISTOGRAM_BUCKETS - 2);
  assert_int_equal(histogram_bucket(HISTOGRAM_MOST), HISTOGRAM_BUCKETS - 1);
  assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void reads_decimals(void **state) {
  (void)state;
  const struct {
    const char *text;
    int64_t value;
  } cases[] = {{"0", 0},   {"17", 17}, {"999999999", 999999999}, {"", -1},
               {"-1", -1}, {"1 ", -1}, {"1000000000", -1},       {"0x1", -1}};
  for (size_t at = 0; at < G_N_ELEMENTS(cases); at++) {
    int64_t value = -1;
    bool ok = parse_decimal(cases[at].text, strlen(cases[at].text), &value);
    assert_int_equal(ok, cases[at].value >= 0);
    if (ok) assert_int_equal(value, cases[at].value);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_golden_frames),
      cmocka_unit_test(reads_what_it_wrote),
      cmocka_unit_test(survives_random_bytes),
      cmocka_unit_test(reads_decimals),
      cmocka_unit_test(reads_times),
      cmocka_unit_test(has_buckets_of_an_eighth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
