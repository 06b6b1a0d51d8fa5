#pragma once

#include "config.h"
#include "counters.h"
#include "spans.h"

namespace chassis {

/** A service's counters and spans. */
struct Records {
  explicit Records(const Config& config) : spans(config) {}

  Counters counters;
  Spans spans;
};

}  // namespace chassis
