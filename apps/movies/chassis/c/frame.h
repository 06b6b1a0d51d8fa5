#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Units: bytes, without the length field. */
#define FRAME_LIMIT (UINT32_C(16) << 20)

/** Bytes that another owns. */
struct slice {
  const char *data;
  size_t size;
};

/**
 * One message on the wire: `u32 length`, and either a header frame, which is a subset of THeader's (the binary protocol, no
 * transforms, one kind of information), or the message itself:
 *
 *     0x0FFF u16 · flags 0 u16 · sequence u32 · words of the header u16 ·
 *     header: varint protocol 0 · varint transforms 0 · { varint 1 · varint pairs · pairs of { varint length · bytes } } ·
 * zeros · message
 *
 * Own code, since Thrift's library for C has no THeader. The slices point into the parsed bytes.
 */
struct frame {
  bool has_header;
  uint32_t sequence;
  /** `00-TRACE-SPAN-FLAGS`; empty if absent. */
  struct slice traceparent;
  /** The request's remaining time. Units: ms, decimal. */
  struct slice deadline;
  /** `queue_ns,application_ns,cpu_ns` of an answer. */
  struct slice times;
  struct slice message;
};

/** Parses a frame without its length field; false if malformed. */
bool frame_parse(const char *body, size_t size, struct frame *frame);

struct pair {
  const char *key, *value;
};

/** Replaces `out` by the length and header that precede a message of `size` bytes in a header frame. */
void frame_header(GByteArray *out, uint32_t sequence, const struct pair *pairs, size_t count, size_t size);
/** The same in a plain frame: the length. */
void frame_length(GByteArray *out, size_t size);

/** `queue_ns,application_ns,cpu_ns`, each of up to 18 digits; rejects anything else. */
bool parse_times(struct slice text, int64_t times[3]);

/** Up to 9 digits; rejects anything else. */
bool parse_decimal(const char *text, size_t size, int64_t *value);
