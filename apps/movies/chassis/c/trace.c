#include "trace.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"

/** Traces are written in lower case only. Source: W3C Trace Context, 3.2.2. */
static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/** `size` bytes of two hexadecimal digits each; false if malformed. */
static bool parse_hex(const char *text, uint8_t *bytes, size_t size) {
  for (size_t at = 0; at < size; at++) {
    int high = hex_value(text[2 * at]), low = hex_value(text[2 * at + 1]);
    if (high < 0 || low < 0) return false;
    bytes[at] = (uint8_t)(high << 4 | low);
  }
  return true;
}

struct trace trace_parse(const char *text, size_t size) {
  struct trace trace = {0};
  uint8_t span[8], flags;
  if (size != TRACE_TEXT_SIZE || memcmp(text, "00-", 3) != 0 || text[35] != '-' || text[52] != '-') return trace;
  if (!parse_hex(text + 3, trace.id, 16) || !parse_hex(text + 36, span, 8) || !parse_hex(text + 53, &flags, 1)) return trace;
  for (int at = 0; at < 8; at++) trace.span = trace.span << 8 | span[at];
  // Zeros are not valid. Source: W3C Trace Context, 3.2.2.3 and 3.2.2.4.
  static const uint8_t zeros[16];
  trace.is_there = trace.span != 0 && memcmp(trace.id, zeros, sizeof zeros) != 0;
  trace.is_sampled = trace.is_there && (flags & 1);
  return trace;
}

void trace_write(const struct trace *trace, char text[TRACE_TEXT_SIZE + 1]) {
  static const char digits[] = "0123456789abcdef";
  memcpy(text, "00-", 3);
  for (int at = 0; at < 16; at++) {
    text[3 + 2 * at] = digits[trace->id[at] >> 4];
    text[4 + 2 * at] = digits[trace->id[at] & 15];
  }
  text[35] = '-';
  for (int at = 0; at < 16; at++) text[36 + at] = digits[trace->span >> (60 - 4 * at) & 15];
  memcpy(text + 52, trace->is_sampled ? "-01" : "-00", 4);
}

uint64_t new_span_id(void) {
  // Each thread has a generator with a random seed. Source: xorshift64*, Vigna, arXiv:1402.6246; it never yields 0.
  static _Thread_local uint64_t state;
  if (state == 0 && getrandom(&state, sizeof state, 0) != sizeof state) state = (uint64_t)now_ns();
  if (state == 0) state = 1;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}
