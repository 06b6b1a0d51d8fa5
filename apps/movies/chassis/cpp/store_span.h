#pragma once

#include "clock.h"
#include "context.h"
#include "records.h"

namespace chassis {

/** Times a question to a store or a cache, and writes the span at its end. */
class StoreSpan {
 public:
  StoreSpan(Records& records, const Context& context, uint16_t peer, uint16_t method) : records_(records), context_(context) {
    span_.kind = Kind::kStore;
    span_.peer = peer;
    span_.method = method;
    int64_t now = now_ns();
    span_.stamps = {now, now, now, now, now, now};
  }

  ~StoreSpan() {
    if (!context_.is_sampled()) return;
    span_.stamps[5] = now_ns();
    span_.trace = context_.trace->id;
    span_.parent = context_.trace->span;
    span_.span = new_span_id();
    records_.spans.add(span_);
  }

  StoreSpan(const StoreSpan&) = delete;
  StoreSpan& operator=(const StoreSpan&) = delete;

  void sent(size_t bytes) {
    span_.stamps[3] = now_ns();
    span_.bytes_out += static_cast<uint32_t>(bytes);
  }

  void answered(size_t bytes) {
    span_.stamps[4] = now_ns();
    span_.bytes_in += static_cast<uint32_t>(bytes);
  }

  void failed(Outcome outcome) { span_.outcome = outcome; }
  void retried() { span_.flags = kRetried; }

 private:
  Records& records_;
  const Context& context_;
  Span span_;
};

}  // namespace chassis
