#pragma once

#include <map>
#include <string>
#include <string_view>

namespace chassis {

/** Values of a cache's answer to `get`, by key. */
using Values = std::map<std::string, std::string>;

enum class Answer { kWhole, kIncomplete, kBad };

/**
 * Reads `VALUE KEY FLAGS BYTES\r\n ... \r\n` up to `END\r\n`. `used` is how much of `text` that is, once it is whole.
 *
 * Source: memcached's doc/protocol.txt.
 */
Answer parse_values(std::string_view text, Values& values, size_t& used);

}  // namespace chassis
