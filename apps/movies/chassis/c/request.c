#include "request.h"

#include <string.h>

#include "clock.h"

struct span store_span_begin(const struct request *request, uint16_t peer, enum store_method method) {
  struct span span = {.kind = SPAN_STORE, .peer = peer, .method = (uint16_t)method};
  if (request->trace.is_sampled) span.stamps[0] = now_ns();
  return span;
}

void store_span_end(const struct request *request, struct span *span) {
  if (!request->trace.is_sampled) return;
  span->stamps[5] = now_ns();
  memcpy(span->trace, request->trace.id, sizeof span->trace);
  span->parent = request->trace.span;
  span->span = new_span_id();
  spans_add(&request->records->spans, span);
}
