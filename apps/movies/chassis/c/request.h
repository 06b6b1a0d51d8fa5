#pragma once

#include <stdint.h>

#include "codec.h"
#include "counters.h"
#include "spans.h"
#include "trace.h"

/** Deadline of a request that names none. Source: the contract of the application. */
#define DEFAULT_DEADLINE_NS (2000 * NS_PER_MS)

/** Counters and spans of a service. */
struct records {
  struct counters counters;
  struct spans spans;
};

/** The request's context for its store queries and calls. */
struct request {
  struct records *records;
  /** Codec of the thread that serves the request; free for calls between reading the message and writing the answer. */
  struct codec *codec;
  /** CLOCK_MONOTONIC. Units: ns. */
  int64_t deadline_ns;
  /** Its span is the server's. */
  struct trace trace;
};

/** A span of a store or a cache that begins now. */
struct span store_span_begin(const struct request *request, uint16_t peer, enum store_method method);
/** Adds the span if the request is sampled. */
void store_span_end(const struct request *request, struct span *span);
