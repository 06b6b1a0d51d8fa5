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
 * Who brings the last part gets the review, stores it, and tells so by `finish`. A part that comes once more waits for that, or
 * tries it again where it failed; so an answer can be relied on. A set that has expired is remembered for a while, so
 * that a part which comes too late is refused, and does not begin a set that never gets whole.
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
