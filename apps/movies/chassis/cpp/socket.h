#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "config.h"

namespace chassis {

/** A TCP connection. It never blocks beyond its time limit, and sends small messages at once (TCP_NODELAY). */
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor);
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  /** Errors: `ConnectionLost`; `DeadlineSpent` at `until_ns` of CLOCK_MONOTONIC. */
  static Socket connect(const Address& address, int64_t until_ns);
  /** Errors: `std::runtime_error` if the address is unavailable. */
  static Socket listen(const Address& address);

  int descriptor() const { return descriptor_; }
  /** Errors: as of `connect`. */
  void send(std::string_view head, std::string_view rest, int64_t until_ns);
  /** Whether there is something to read, the end included. */
  bool is_readable() const;

 private:
  int descriptor_ = -1;
};

/** Waits until a descriptor has one of `events` of poll(2); false at `until_ns`. */
bool wait_for(int descriptor, short events, int64_t until_ns);

/** Time left until `until_ns`, for ppoll(2); not negative. */
timespec left_until(int64_t until_ns);

}  // namespace chassis
