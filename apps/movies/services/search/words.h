#pragma once

#include <string>

namespace movies {

/** The text as it is indexed and searched: Latin letters without accents, words without apostrophes, `&` as `and`. */
std::string fold(const std::string& text);

/** Other ways to write the numbers of a title: `2` for `Part II`, and the reverse. Words with blanks between. */
std::string numbers_of(const std::string& title);

}  // namespace movies
