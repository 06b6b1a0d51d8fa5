#include "sets.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "checks.h"
#include "clock.h"
#include "context.h"
#include "failure.h"

namespace movies {
namespace {

/** A set lives as long as a request does, which is this at most. */
constexpr int64_t kLongestLifeNs = chassis::kDefaultDeadlineNs;
/** A part that is sent at the end of a set's life is spent after another; the third is a margin. */
constexpr int64_t kForgetNs = 3 * kLongestLifeNs;
/** Of one shard: 64 of these with texts of 8 KiB are 512 MiB. */
constexpr size_t kMostSets = 1024;

/** Reads the kind as a number: an unknown kind is not a valid value of the enum. */
int32_t kind_as_it_came(const Part& part) {
  int32_t kind;
  static_assert(sizeof kind == sizeof part.kind);
  std::memcpy(&kind, &part.kind, sizeof kind);
  return kind;
}

template <class Value>
void put_once(bool& has, Value& there, const Value& given, const char* name) {
  if (has && there != given) {
    chassis::refuse(Code::CONFLICT, std::string(name) + " of this review was put before with another value");
  }
  there = given;
  has = true;
}

}  // namespace

Sets::Shard& Sets::of(RequestId request) { return shards_[static_cast<uint64_t>(request) % shards_.size()]; }

Sets::Set& Sets::find(Shard& shard, RequestId request, int64_t end_ns) {
  const int64_t now = chassis::now_ns();
  while (!shard.ages.empty() && shard.ages.front().first <= now) {
    shard.sets.erase(shard.ages.front().second);
    shard.ages.pop_front();
  }
  auto found = shard.sets.find(request);
  if (found != shard.sets.end()) {
    Set& set = found->second;
    if (set.state == State::kGathering && now >= set.expires_ns) {
      chassis::refuse(Code::UNAVAILABLE, "the parts of review " + std::to_string(request) + " have expired");
    }
    return set;
  }
  if (shard.sets.size() >= kMostSets) {
    chassis::refuse(Code::UNAVAILABLE,
                    "too many reviews are gathered: " + std::to_string(kMostSets) + " of 64 that share a lock");
  }
  Set& set = shard.sets[request];
  set.expires_ns = std::min(end_ns, now + kLongestLifeNs);
  set.review.time_ms = chassis::wall_ms();
  shard.ages.emplace_back(now + kForgetNs, request);
  return set;
}

void Sets::add(Set& set, const Part& part) {
  Review& review = set.review;
  switch (part.kind) {
    case PartKind::ID:
      return put_once(set.has[0], review.review, part.number, "the id");
    case PartKind::MOVIE:
      return put_once(set.has[1], review.movie, part.number, "the movie");
    case PartKind::TEXT:
      return put_once(set.has[2], review.text, part.text, "the text");
    case PartKind::STARS:
      return put_once(set.has[3], review.stars, static_cast<int32_t>(part.number), "the number of stars");
    case PartKind::USER:
      return put_once(set.has[4], review.user, part.number, "the user");
  }
}

Sets::Now Sets::put(RequestId request, const Part& part, int64_t end_ns, Review& review) {
  chassis::check_range("the kind of a part", kind_as_it_came(part), PartKind::ID, PartKind::USER);
  if (part.kind == PartKind::TEXT) {
    chassis::check_size("text", part.text, chassis::kLongestText);
  } else {
    chassis::check_range("the number of a part", part.number, 1, part.kind == PartKind::STARS ? 10 : INT64_MAX);
  }
  Shard& shard = of(request);
  std::chrono::steady_clock::time_point end{std::chrono::nanoseconds(end_ns)};
  std::unique_lock lock(shard.mutex);
  for (;;) {
    Set& set = find(shard, request, end_ns);
    if (set.state == State::kStored) return Now::kStored;
    if (set.state == State::kGathering) {
      add(set, part);
      if (!std::all_of(set.has.begin(), set.has.end(), [](bool has) { return has; })) return Now::kGathering;
      set.state = State::kStoring;
      review = set.review;
      return Now::kComplete;
    }
    if (shard.finished.wait_until(lock, end) == std::cv_status::timeout) {
      throw chassis::DeadlineSpent("review " + std::to_string(request) + " is still being stored");
    }
  }
}

void Sets::finish(RequestId request, bool is_stored) {
  Shard& shard = of(request);
  {
    std::lock_guard lock(shard.mutex);
    auto found = shard.sets.find(request);
    if (found != shard.sets.end()) {
      Set& set = found->second;
      set.state = is_stored ? State::kStored : State::kGathering;
      // Free the memory of a stored review.
      if (is_stored) std::string().swap(set.review.text);
    }
  }
  shard.finished.notify_all();
}

}  // namespace movies
