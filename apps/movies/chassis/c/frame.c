#include "frame.h"

#include <string.h>

#include "cursor.h"

#define MAGIC 0x0fff
/** Magic, flags, sequence, words. */
#define FIXED 10

static struct slice take_text(struct cursor *cursor) {
  size_t size = cursor_varint(cursor);
  const unsigned char *text = cursor_take(cursor, size);
  return text ? (struct slice){(const char *)text, size} : (struct slice){"", 0};
}

static bool is(struct slice text, const char *word) {
  return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static bool parse_pairs(struct cursor *header, struct frame *frame) {
  if (cursor_varint(header) != 0 || cursor_varint(header) != 0) return false;
  while (!header->failed && cursor_left(header) > 0) {
    uint32_t kind = cursor_varint(header);
    if (kind == 0) break;  // Padding.
    if (kind != 1) return false;
    for (uint32_t left = cursor_varint(header); left > 0 && !header->failed; left--) {
      struct slice key = take_text(header), value = take_text(header);
      if (is(key, "traceparent")) frame->traceparent = value;
      if (is(key, "d")) frame->deadline = value;
      if (is(key, "s")) frame->times = value;
    }
  }
  return !header->failed;
}

bool frame_parse(const char *body, size_t size, struct frame *frame) {
  const struct slice none = {"", 0};
  *frame = (struct frame){.traceparent = none, .deadline = none, .times = none, .message = {body, size}};
  if (size > 0 && (unsigned char)body[0] == 0x80) return true;
  struct cursor cursor = cursor_on(body, size);
  uint64_t magic = cursor_number(&cursor, 2), flags = cursor_number(&cursor, 2);
  frame->sequence = (uint32_t)cursor_number(&cursor, 4);
  size_t header_size = (size_t)cursor_number(&cursor, 2) * 4;
  const unsigned char *header = cursor_take(&cursor, header_size);
  if (!header || magic != MAGIC || flags != 0) return false;
  frame->has_header = true;
  frame->message = (struct slice){(const char *)cursor.at, cursor_left(&cursor)};
  struct cursor pairs = cursor_on((const char *)header, header_size);
  return parse_pairs(&pairs, frame) && frame->message.size > 0 && (unsigned char)frame->message.data[0] == 0x80;
}

static void append_number(GByteArray *out, uint64_t value, int size) {
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8) {
    guint8 byte = (guint8)(value >> shift);
    g_byte_array_append(out, &byte, 1);
  }
}

static void append_text(GByteArray *out, const char *text) {
  size_t size = strlen(text);
  size_t left = size;
  for (; left >= 0x80; left >>= 7) append_number(out, (left & 0x7f) | 0x80, 1);
  append_number(out, left, 1);
  g_byte_array_append(out, (const guint8 *)text, (guint)size);
}

void frame_header(GByteArray *out, uint32_t sequence, const struct pair *pairs, size_t count, size_t size) {
  // The length and the fixed part are filled in below.
  g_byte_array_set_size(out, 4 + FIXED);
  append_number(out, 0, 2);
  if (count > 0) {
    append_number(out, 1, 1);
    append_number(out, count, 1);
    for (size_t at = 0; at < count; at++) {
      append_text(out, pairs[at].key);
      append_text(out, pairs[at].value);
    }
  }
  while ((out->len - 4 - FIXED) % 4 != 0) append_number(out, 0, 1);
  const guint header_size = out->len - 4 - FIXED;
  const uint64_t fixed[][2] = {{FIXED + header_size + size, 4}, {MAGIC, 2}, {0, 2}, {sequence, 4}, {header_size / 4, 2}};
  guint8 *at = out->data;
  for (size_t field = 0; field < G_N_ELEMENTS(fixed); field++) {
    for (uint64_t byte = fixed[field][1]; byte-- > 0;) *at++ = (guint8)(fixed[field][0] >> (8 * byte));
  }
}

void frame_length(GByteArray *out, size_t size) {
  g_byte_array_set_size(out, 0);
  append_number(out, size, 4);
}

bool parse_decimal(const char *text, size_t size, int64_t *value) {
  if (size == 0 || size > 9) return false;
  *value = 0;
  for (size_t at = 0; at < size; at++) {
    if (text[at] < '0' || text[at] > '9') return false;
    *value = *value * 10 + (text[at] - '0');
  }
  return true;
}

bool parse_times(struct slice text, int64_t times[3]) {
  const char *at = text.data, *end = text.data + text.size;
  for (int part = 0; part < 3; part++) {
    if (part > 0 && (at == end || *at++ != ',')) return false;
    const char *begin = at;
    times[part] = 0;
    for (; at < end && at - begin < 18 && *at >= '0' && *at <= '9'; at++) times[part] = times[part] * 10 + (*at - '0');
    if (at == begin) return false;
  }
  return at == end;
}
