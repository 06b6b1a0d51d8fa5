#pragma once

#include "config.h"
#include "counters.h"
#include "spans.h"

namespace chassis {

/** What a service says of itself. */
struct Records {
  explicit Records(const Config& config) : spans(config) {}

  Counters counters;
  Spans spans;
};

}  // namespace chassis
