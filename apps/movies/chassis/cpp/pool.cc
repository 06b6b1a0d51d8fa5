#include "pool.h"

#include <algorithm>
#include <chrono>

#include "clock.h"
#include "failure.h"

namespace chassis {
namespace {

/** Source: the contract of the application. */
constexpr int64_t kLongestWaitNs = 1000 * kNsPerMs;

}  // namespace

void Pool::Lease::end(bool keep) {
  if (connection_) pool_->give(std::move(connection_), keep);
}

void Pool::Lease::lose() {
  if (!connection_) return;
  std::vector<std::unique_ptr<Connection>> stale;
  {
    std::lock_guard lock(pool_->mutex_);
    stale.swap(pool_->idle_);
    pool_->made_ -= static_cast<int>(stale.size());
  }
  pool_->free_.notify_all();
  end(false);
}

std::unique_ptr<Connection> Pool::take_idle(int64_t until_ns) {
  int64_t end = std::min(until_ns, now_ns() + kLongestWaitNs);
  std::chrono::steady_clock::time_point end_time{std::chrono::nanoseconds(end)};
  std::unique_lock lock(mutex_);
  if (!free_.wait_until(lock, end_time, [this] { return !idle_.empty() || made_ < kLimit; })) {
    std::string what = address_.text() + ": all " + std::to_string(kLimit) + " connections stay in use";
    if (end == until_ns) throw DeadlineSpent(what);
    throw Unavailable(what);
  }
  if (idle_.empty()) {
    made_++;
    return nullptr;
  }
  // The last one that was used is the likeliest to be in the processor's cache.
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

Pool::Lease Pool::take(int64_t until_ns) {
  for (;;) {
    auto connection = take_idle(until_ns);
    if (!connection) break;
    Lease lease(this, std::move(connection));
    // An idle connection expects no data, so a readable one has been closed.
    if (!lease->socket.is_readable()) return lease;
  }
  Lease lease(this, std::make_unique<Connection>());
  lease->socket = Socket::connect(address_, until_ns);
  return lease;
}

void Pool::give(std::unique_ptr<Connection> connection, bool keep) {
  {
    std::lock_guard lock(mutex_);
    if (keep) {
      idle_.push_back(std::move(connection));
    } else {
      made_--;
    }
  }
  free_.notify_one();
}

}  // namespace chassis
