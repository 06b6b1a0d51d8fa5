#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "clock.h"

namespace chassis {

/**
 * Keeps from asking an optional service that times out again and again, so that requests do not wait for it in vain. Open, it lets one
 * call through after each back-off (half-open); an answer of any kind closes it. Any thread may call it.
 */
class Breaker {
 public:
  /** Time-outs in a row that open it. Source: ours. */
  static constexpr int kTimeOuts = 5;
  /** How long an open one waits before a call tries the service; each try that times out doubles it. */
  static constexpr int64_t kFirstNs = 1'000 * kNsPerMs, kLongestNs = 30'000 * kNsPerMs;

  /** Whether a call may begin, and as what. */
  enum class Admitted { kNo, kCall, kTry };

  Admitted admits(int64_t now) {
    std::lock_guard lock(mutex_);
    if (wait_ns_ == 0) return Admitted::kCall;
    if (now < until_ns_) {
      refused_++;
      return Admitted::kNo;
    }
    // Others wait for the outcome of this one.
    until_ns_ = now + wait_ns_;
    return Admitted::kTry;
  }

  /** The outcome of a call that was admitted. Calls that began before it opened may time out later, and are no tries. */
  void ended(bool is_time_out, Admitted admitted, int64_t now) {
    std::lock_guard lock(mutex_);
    if (!is_time_out) {
      time_outs_ = 0;
      wait_ns_ = 0;
      return;
    }
    if (wait_ns_ == 0) {
      if (++time_outs_ < kTimeOuts) return;
      wait_ns_ = kFirstNs;
      opened_++;
    } else if (admitted == Admitted::kTry) {
      wait_ns_ = std::min(2 * wait_ns_, kLongestNs);
    } else {
      return;
    }
    until_ns_ = now + wait_ns_;
  }

  void append_to(std::map<std::string, int64_t>& out, const std::string& name) const {
    std::lock_guard lock(mutex_);
    out[name + ".open"] = wait_ns_ > 0;
    out[name + ".opened"] = opened_;
    out[name + ".refused"] = refused_;
  }

 private:
  mutable std::mutex mutex_;
  int time_outs_ = 0;
  /** 0: closed. */
  int64_t wait_ns_ = 0, until_ns_ = 0;
  int64_t opened_ = 0, refused_ = 0;
};

}  // namespace chassis
