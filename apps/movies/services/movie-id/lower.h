#pragma once

#include <optional>
#include <string>

namespace movies {

/** In lower case, letter by letter of Unicode; nullopt if the text is not UTF-8 or has control characters. */
std::optional<std::string> to_lower(const std::string& text);

}  // namespace movies
