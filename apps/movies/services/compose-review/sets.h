#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "idl/movies_types.h"

namespace movies {

/**
 * The parts of reviews while they are gathered, by request, in memory.
 *
 * The sender of the last part gets the review, stores it, and reports by `finish`. A repeated part waits for that, or
 * retries it after a failure, so that a successful answer is reliable. An expired set is remembered for a while, so that a
 * late part is refused and does not begin a set that never completes.
 */
class Sets {
 public:
  enum class Now { kGathering, kComplete, kStored };

  /**
   * `end_ns`: when the request's time is spent. After `kComplete` the caller calls `finish`.
   *
   * Errors: `Refused`, where the part is not valid, differs from one that is there, or came too late; `DeadlineSpent`.
   */
  Now put(RequestId request, const Part& part, int64_t end_ns, Review& review);
  void finish(RequestId request, bool is_stored);

 private:
  enum class State { kGathering, kStoring, kStored };

  struct Set {
    State state = State::kGathering;
    int64_t expires_ns = 0;
    Review review;
    std::array<bool, 5> has{};
  };

  struct Shard {
    std::mutex mutex;
    std::condition_variable finished;
    std::unordered_map<RequestId, Set> sets;
    /** When each may be forgotten, in that order. */
    std::deque<std::pair<int64_t, RequestId>> ages;
  };

  Shard& of(RequestId request);
  static Set& find(Shard& shard, RequestId request, int64_t end_ns);
  static void add(Set& set, const Part& part);

  /** Many more than threads, so that two seldom wait for one. */
  std::array<Shard, 64> shards_;
};

}  // namespace movies
