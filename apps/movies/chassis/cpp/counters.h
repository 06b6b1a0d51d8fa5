#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace chassis {

/** Since the start. */
struct Counters {
  using Count = std::atomic<int64_t>;

  Count requests{0}, errors{0}, refused{0}, deadline{0}, overloaded{0}, degraded{0}, retries{0}, bad_frames{0}, connections{0};
  Count queue_ns{0}, application_ns{0}, cpu_ns{0};
  /** Of caches: keys found, keys missing, and failed queries. */
  Count cache_hits{0}, cache_misses{0}, cache_errors{0};

  void append_to(std::map<std::string, int64_t>& out) const {
    out["requests"] = requests;
    out["errors"] = errors;
    out["refused"] = refused;
    out["deadline"] = deadline;
    out["overloaded"] = overloaded;
    out["degraded"] = degraded;
    out["retries"] = retries;
    out["bad_frames"] = bad_frames;
    out["connections"] = connections;
    out["queue_ns"] = queue_ns;
    out["application_ns"] = application_ns;
    out["cpu_ns"] = cpu_ns;
    out["cache.hits"] = cache_hits;
    out["cache.misses"] = cache_misses;
    out["cache.errors"] = cache_errors;
  }
};

}  // namespace chassis
