#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "frame.h"

namespace chassis {

/** Bytes that came over a socket and have not been used yet. */
class Inbox {
 public:
  enum class Got { kBytes, kNothing, kClosed };

  /** Reads a socket's available bytes once, without waiting. */
  Got read(int socket) {
    if (buffer_.size() - end_ < kLeast) {
      if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
      }
      // Doubled, so that each byte of a large frame is moved once on average.
      if (buffer_.size() - end_ < kLeast) buffer_.resize(std::max(2 * buffer_.size(), end_ + kLeast));
    }
    for (;;) {
      ssize_t n = recv(socket, buffer_.data() + end_, buffer_.size() - end_, MSG_DONTWAIT);
      if (n > 0) {
        end_ += static_cast<size_t>(n);
        return Got::kBytes;
      }
      if (n == 0) return Got::kClosed;
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK ? Got::kNothing : Got::kClosed;
    }
  }

  std::string_view bytes() const { return {buffer_.data() + begin_, end_ - begin_}; }

  /** Forgets the first `size` bytes; views of them end here. */
  void consume(size_t size) {
    begin_ += size;
    if (begin_ < end_) return;
    begin_ = end_ = 0;
    if (buffer_.size() > kKept) {
      buffer_.resize(kLeast);
      buffer_.shrink_to_fit();
    }
  }

  enum class Next { kFrame, kIncomplete, kBad };
  /** The first frame, without its length, which `consume(4 + body.size())` forgets. */
  Next peek_frame(std::string_view& body) const {
    std::string_view all = bytes();
    if (all.size() < 4) return Next::kIncomplete;
    uint32_t length = 0;
    for (unsigned char byte : all.substr(0, 4)) length = length << 8 | byte;
    if (length == 0 || length > kFrameLimit) return Next::kBad;
    if (all.size() - 4 < length) return Next::kIncomplete;
    body = all.substr(4, length);
    return Next::kFrame;
  }

 private:
  /** Most requests and their answers fit. */
  static constexpr size_t kLeast = 16 << 10;
  /** A buffer that one large page made is not kept by a connection that is idle. */
  static constexpr size_t kKept = 1 << 20;

  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace chassis
