#pragma once

#include <optional>
#include <string>

namespace movies {

/** In lower case, letter by letter of Unicode; nothing where the text is not UTF-8 or has control characters. */
std::optional<std::string> to_lower(const std::string& text);

}  // namespace movies
