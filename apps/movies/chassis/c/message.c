#include "message.h"

#include "cursor.h"

/** Types of the binary protocol. Source: Thrift binary protocol encoding. */
enum {
  STOP = 0,
  BOOL = 2,
  BYTE = 3,
  DOUBLE = 4,
  I16 = 6,
  I32 = 8,
  I64 = 10,
  STRING = 11,
  STRUCT = 12,
  MAP = 13,
  SET = 14,
  LIST = 15,
};

/** Strict binary protocol, version 1. */
#define VERSION 0x8001
/** The same as in Thrift's other libraries; the application's messages have 4 levels. */
#define DEEPEST 64

static bool walk(struct cursor *cursor, unsigned type, int depth);

static bool walk_struct(struct cursor *cursor, int depth) {
  for (;;) {
    unsigned type = (unsigned)cursor_number(cursor, 1);
    if (cursor->failed) return false;
    if (type == STOP) return true;
    cursor_take(cursor, 2);
    if (!walk(cursor, type, depth)) return false;
  }
}

static bool walk_elements(struct cursor *cursor, const unsigned *types, int kinds, int depth) {
  uint64_t count = cursor_number(cursor, 4);
  // An element has at least one byte.
  if (cursor->failed || count > cursor_left(cursor)) return false;
  for (uint64_t at = 0; at < count; at++) {
    for (int kind = 0; kind < kinds; kind++) {
      if (!walk(cursor, types[kind], depth)) return false;
    }
  }
  return true;
}

static bool walk(struct cursor *cursor, unsigned type, int depth) {
  if (depth > DEEPEST) return false;
  unsigned types[2];
  switch (type) {
    case BOOL:
    case BYTE:
      return cursor_take(cursor, 1);
    case I16:
      return cursor_take(cursor, 2);
    case I32:
      return cursor_take(cursor, 4);
    case DOUBLE:
    case I64:
      return cursor_take(cursor, 8);
    case STRING:
      return cursor_take(cursor, (size_t)cursor_number(cursor, 4));
    case STRUCT:
      return walk_struct(cursor, depth + 1);
    case MAP:
      types[0] = (unsigned)cursor_number(cursor, 1);
      types[1] = (unsigned)cursor_number(cursor, 1);
      return walk_elements(cursor, types, 2, depth + 1);
    case SET:
    case LIST:
      types[0] = (unsigned)cursor_number(cursor, 1);
      return walk_elements(cursor, types, 1, depth + 1);
    default:
      return false;
  }
}

bool message_check(const char *message, size_t size, struct message_head *head) {
  struct cursor cursor = cursor_on(message, size);
  uint64_t version = cursor_number(&cursor, 2);
  head->type = (enum message_type)cursor_number(&cursor, 2);
  head->name_size = (size_t)cursor_number(&cursor, 4);
  head->name = (const char *)cursor_take(&cursor, head->name_size);
  head->sequence = (int32_t)cursor_number(&cursor, 4);
  if (cursor.failed || version != VERSION || head->type < MESSAGE_CALL || head->type > MESSAGE_EXCEPTION) return false;
  return walk_struct(&cursor, 1) && cursor_left(&cursor) == 0;
}

struct slice message_exception_text(const char *message, size_t size) {
  struct cursor cursor = cursor_on(message, size);
  cursor_take(&cursor, 4);
  cursor_take(&cursor, (size_t)cursor_number(&cursor, 4));
  cursor_take(&cursor, 4);
  for (;;) {
    unsigned type = (unsigned)cursor_number(&cursor, 1);
    if (cursor.failed || type == STOP) return (struct slice){"", 0};
    // Field 1 is the text, field 2 a number. Source: Thrift's TApplicationException.
    if (cursor_number(&cursor, 2) == 1 && type == STRING) {
      size_t length = (size_t)cursor_number(&cursor, 4);
      const unsigned char *text = cursor_take(&cursor, length);
      return text ? (struct slice){(const char *)text, length} : (struct slice){"", 0};
    }
    if (!walk(&cursor, type, 1)) return (struct slice){"", 0};
  }
}
