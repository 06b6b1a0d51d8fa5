#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "inbox.h"
#include "socket.h"

namespace chassis {

struct Connection {
  Socket socket;
  Inbox inbox;
  /** Of the last request. */
  uint32_t sequence = 0;
};

/** Connections to one instance of a service or of a cache, made when they are needed. */
class Pool {
 public:
  /** Source of the limit: the contract of the application. */
  static constexpr int kLimit = 8;

  explicit Pool(Address address) : address_(std::move(address)) {}

  /** A connection that belongs to one request at a time. It is closed unless it is given back by `keep`. */
  class Lease {
   public:
    Lease() = default;
    Lease(Pool* pool, std::unique_ptr<Connection> connection) : pool_(pool), connection_(std::move(connection)) {}
    ~Lease() { end(false); }
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&& other) noexcept {
      end(false);
      pool_ = other.pool_;
      connection_ = std::move(other.connection_);
      return *this;
    }

    explicit operator bool() const { return connection_ != nullptr; }
    Connection* operator->() const { return connection_.get(); }
    Connection& operator*() const { return *connection_; }
    void keep() { end(true); }
    /** Closes it, and the idle ones, which are of the same age or older. */
    void lose();

   private:
    void end(bool keep);

    Pool* pool_ = nullptr;
    std::unique_ptr<Connection> connection_;
  };

  /**
   * Waits for a connection until `until_ns` of CLOCK_MONOTONIC, but at most 1 s. A caller that holds several takes them in
   * the order of the registry, so that no two callers wait for each other.
   *
   * Errors: `ConnectionLost`, `DeadlineSpent`, `Unavailable` where all stay in use.
   */
  Lease take(int64_t until_ns);
  const Address& address() const { return address_; }

 private:
  std::unique_ptr<Connection> take_idle(int64_t until_ns);
  void give(std::unique_ptr<Connection> connection, bool keep);

  Address address_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<Connection>> idle_;
  int made_ = 0;
};

}  // namespace chassis
