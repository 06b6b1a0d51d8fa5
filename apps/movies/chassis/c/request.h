#pragma once

#include <stdint.h>

#include "codec.h"
#include "counters.h"
#include "spans.h"
#include "trace.h"

/** Where a request carries no deadline. Source: the contract of the application. */
#define DEFAULT_DEADLINE_NS (2000 * NS_PER_MS)

/** What a service counts and records. */
struct records {
  struct counters counters;
  struct spans spans;
};

/** What the questions and calls that a request makes need to know of it. */
struct request {
  struct records *records;
  /** That of the thread which works on it; its message has been read, and its answer is not yet written. */
  struct codec *codec;
  /** CLOCK_MONOTONIC. Units: ns. */
  int64_t deadline_ns;
  /** Its span is that of the server. */
  struct trace trace;
};

/** A span of a store or a cache that begins now. */
struct span store_span_begin(const struct request *request, uint16_t peer, enum store_method method);
/** Adds it, where the request is sampled. */
void store_span_end(const struct request *request, struct span *span);
