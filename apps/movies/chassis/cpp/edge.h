#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "breaker.h"
#include "budget.h"
#include "clock.h"
#include "histogram.h"
#include "jump.h"
#include "pool.h"
#include "registry.h"

namespace chassis {

/** A service that this one calls: a pool of connections to each of its instances. */
class Upstream {
 public:
  /** `limit_ms`: limit of each call, if shorter than the request's remaining time. `is_optional`: whether answers do without it. */
  Upstream(const std::string& name, const std::vector<Address>& addresses, std::optional<int> limit_ms, bool is_optional)
      : name(name), id(registry_id(name)), limit_ms_(limit_ms) {
    if (is_optional) breaker.emplace();
    for (const Address& address : addresses) pools_.emplace_back(address);
  }

  uint32_t take_turn() { return turn_++; }

  /** Calls of the same hash go to the same instance, others to that whose turn it is. */
  Pool& pick(std::optional<uint64_t> hash, uint32_t turn) {
    if (pools_.size() == 1) return pools_.front();
    if (hash) return pools_[static_cast<size_t>(jump_hash(*hash, static_cast<int32_t>(pools_.size())))];
    return pools_[turn % pools_.size()];
  }

  /** Deadline of a call that begins now, at most `until_ns`. */
  int64_t limited(int64_t until_ns) const {
    return limit_ms_ ? std::min(until_ns, now_ns() + *limit_ms_ * kNsPerMs) : until_ns;
  }

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
  Edge(Upstream& upstream, const std::string& method)
      : upstream(upstream), method(method), place(registry_method(upstream.name, method)), idempotent(is_idempotent(method)) {}

  void append_to(std::map<std::string, int64_t>& out) const {
    std::string name = "edge." + upstream.name + "." + method;
    out[name + ".calls"] = calls;
    out[name + ".errors"] = errors;
    out[name + ".ns"] = ns;
    wall.append_to(out, name + ".wall");
    queue.append_to(out, name + ".queue");
    application.append_to(out, name + ".application");
    cpu.append_to(out, name + ".cpu");
  }

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
