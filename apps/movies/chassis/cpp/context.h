#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "clock.h"

namespace chassis {

/** Deadline of a request that names none. Source: the contract of the application. */
constexpr int64_t kDefaultDeadlineNs = 2000 * kNsPerMs;

/** Trace and caller of a request. */
struct Trace {
  std::array<uint8_t, 16> id{};
  uint64_t span = 0;
  bool is_sampled = false;

  /** Parses `00-TRACE-SPAN-FLAGS`; nullopt if malformed. */
  static std::optional<Trace> parse(std::string_view traceparent);
  std::string text() const;
};

/** The request's context for its calls. */
struct Context {
  /** CLOCK_MONOTONIC. Units: ns. */
  int64_t deadline_ns = 0;
  /** Absent for an untraced request; its span is the server's. */
  std::optional<Trace> trace;

  bool is_sampled() const { return trace && trace->is_sampled; }

  /** Context of the request that this thread works on; outside a request, one with the default deadline. */
  static Context current();
  static void set_current(const Context* context);
};

/** Random, and not 0. */
uint64_t new_span_id();

/** Of digits only, up to 9 of them. */
std::optional<int64_t> parse_decimal(std::string_view text);

}  // namespace chassis
