#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace chassis {

/** Bytes that came over a socket and have not been used yet. */
class Inbox {
 public:
  enum class Got { kBytes, kNothing, kClosed };

  /** Reads a socket's available bytes once, without waiting. */
  Got read(int socket);
  std::string_view bytes() const { return {buffer_.data() + begin_, end_ - begin_}; }
  /** Forgets the first `size` bytes; views of them end here. */
  void consume(size_t size);

  enum class Next { kFrame, kIncomplete, kBad };
  /** The first frame, without its length, which `consume(4 + body.size())` forgets. */
  Next peek_frame(std::string_view& body) const;

 private:
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace chassis
