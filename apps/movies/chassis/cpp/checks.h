#pragma once

#include <cstdint>
#include <string>

#include "failure.h"

namespace chassis {

/** Maximum length of a requested list. Source of these: the contract of the application. */
constexpr int32_t kMostListed = 100;
/** Units: bytes. */
constexpr size_t kLongestText = 8192;
/** Limit of titles and queries; the longest in the data set has 83. Units: bytes. */
constexpr size_t kLongestLine = 256;

/** Errors of these: `Refused`. */
inline void check_range(const std::string& name, int64_t given, int64_t least, int64_t most) {
  if (given >= least && given <= most) return;
  refuse(movies::Code::BAD_REQUEST,
         name + " is " + std::to_string(given) + ", and takes " + std::to_string(least) + " to " + std::to_string(most));
}

inline void check_count(int64_t given) { check_range("n", given, 0, kMostListed); }

inline void check_start(int64_t given) { check_range("start", given, 0, INT32_MAX); }

inline void check_size(const std::string& name, const std::string& text, size_t most) {
  if (text.size() <= most) return;
  refuse(movies::Code::TOO_LARGE, name + " has " + std::to_string(text.size()) + " bytes, and may have " + std::to_string(most));
}

}  // namespace chassis
