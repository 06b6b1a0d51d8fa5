#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "breaker.h"
#include "budget.h"
#include "histogram.h"
#include "pool.h"

namespace chassis {

/** A service that this one calls: a pool of connections to each of its instances. */
class Upstream {
 public:
  /** `limit_ms`: limit of each call, if shorter than the request's remaining time. `is_optional`: whether answers do without it. */
  Upstream(std::string name, const std::vector<Address>& addresses, std::optional<int> limit_ms, bool is_optional);

  uint32_t take_turn() { return turn_++; }
  /** Calls of the same hash go to the same instance, others to that whose turn it is. */
  Pool& pick(std::optional<uint64_t> hash, uint32_t turn);
  /** Deadline of a call that begins now, at most `until_ns`. */
  int64_t limited(int64_t until_ns) const;

  const std::string name;
  const uint16_t id;
  /** Not there for a service that is needed. */
  std::optional<Breaker> breaker;

 private:
  std::deque<Pool> pools_;
  std::optional<int> limit_ms_;
  std::atomic<uint32_t> turn_{0};
};

/** One method of another service that this one calls. */
struct Edge {
  Edge(Upstream& upstream, const std::string& method);

  void append_to(std::map<std::string, int64_t>& out) const;

  Upstream& upstream;
  const std::string method;
  const uint16_t place;
  const bool idempotent;
  Budget budget;
  std::atomic<int64_t> calls{0}, errors{0}, ns{0};
  /** Of all calls: time seen here, and the callee's times from its answers. */
  Histogram wall, queue, application, cpu;
};

}  // namespace chassis
