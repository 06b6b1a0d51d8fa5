#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Trace and caller of a request. */
struct trace {
  bool is_there, is_sampled;
  uint8_t id[16];
  uint64_t span;
};

/** Bytes of `00-TRACE-SPAN-FLAGS`. Source: W3C Trace Context, 3.2.2. */
#define TRACE_TEXT_SIZE 55

/** `is_there` is false for any other text. */
struct trace trace_parse(const char *text, size_t size);
void trace_write(const struct trace *trace, char text[TRACE_TEXT_SIZE + 1]);

/** Random, and not 0. */
uint64_t new_span_id(void);
