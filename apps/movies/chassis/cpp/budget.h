#pragma once

#include <atomic>

namespace chassis {

/** How many calls of an edge may be made a second time: one in ten, so that a callee in trouble gets little more than its load.
 */
class Budget {
 public:
  void earn() {
    int have = tenths_;
    while (have < kMost && !tenths_.compare_exchange_weak(have, have + 1)) {
    }
  }

  bool spend() {
    int have = tenths_;
    while (have >= kRetry) {
      if (tenths_.compare_exchange_weak(have, have - kRetry)) return true;
    }
    return false;
  }

 private:
  /** Source: the contract of the application. Units: tenths of a retry. */
  static constexpr int kRetry = 10, kMost = 100;
  std::atomic<int> tenths_{kMost};
};

}  // namespace chassis
