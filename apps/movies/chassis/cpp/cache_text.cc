#include "cache_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "context.h"

namespace chassis {
namespace {

/** Largest value accepted; the default limit of a cache is 1 MiB. Units: bytes. */
constexpr int64_t kLargest = 16 << 20;
/** A key has 250 bytes at most, and three numbers follow. Source: memcached's doc/protocol.txt. */
constexpr size_t kLongestLine = 320;

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  for (size_t begin = 0; begin < line.size();) {
    size_t end = std::min(line.find(' ', begin), line.size());
    if (end > begin) found.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return found;
}

}  // namespace

Answer parse_values(std::string_view text, Values& values, size_t& used) {
  // Copied only once the answer is whole: each read of a large one parses it again.
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (size_t at = 0;;) {
    size_t end = text.find("\r\n", at);
    if (end == std::string_view::npos) return text.size() - at > kLongestLine ? Answer::kBad : Answer::kIncomplete;
    std::string_view line = text.substr(at, end - at);
    at = end + 2;
    if (line == "END") {
      used = at;
      values = Values(found.begin(), found.end());
      return Answer::kWhole;
    }
    auto word = words(line);
    if (word.size() < 4 || word[0] != "VALUE") return Answer::kBad;
    auto size = parse_decimal(word[3]);
    if (!size || *size > kLargest) return Answer::kBad;
    auto length = static_cast<size_t>(*size);
    if (text.size() - at < length + 2) return Answer::kIncomplete;
    if (text.substr(at + length, 2) != "\r\n") return Answer::kBad;
    found.emplace_back(word[1], text.substr(at, length));
    at += length + 2;
  }
}

}  // namespace chassis
