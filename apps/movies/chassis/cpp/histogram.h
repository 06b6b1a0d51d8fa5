#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace chassis {

/** How often which duration was, since the start. Any thread may add. */
class Histogram {
 public:
  /** Units: ns; 18 minutes, and longer ones count as that. */
  static constexpr uint64_t kMost = uint64_t{1} << 40;
  /** 8 for each power of two, 12.5 % wide each, and one for each of the numbers below 8. */
  static constexpr size_t kBuckets = 8 * (40 - 2) + 1;

  static size_t bucket(uint64_t ns) {
    if (ns < 8) return ns;
    ns = std::min(ns, kMost);
    const int e = 63 - __builtin_clzll(ns);
    return 8 * static_cast<size_t>(e - 2) + (ns >> (e - 3) & 7);
  }

  void add(int64_t ns) { counts_[bucket(static_cast<uint64_t>(ns))].fetch_add(1, std::memory_order_relaxed); }

  /** Adds the buckets that are not empty, as NAME.BUCKET. */
  void append_to(std::map<std::string, int64_t>& out, const std::string& name) const {
    for (size_t at = 0; at < kBuckets; at++) {
      if (int64_t count = counts_[at]) out[name + "." + std::to_string(at)] = count;
    }
  }

 private:
  std::array<std::atomic<int64_t>, kBuckets> counts_{};
};

}  // namespace chassis
