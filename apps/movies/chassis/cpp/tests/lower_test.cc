#include "movie-id/lower.h"

#include <gtest/gtest.h>

namespace movies {

TEST(Lower, TurnsLettersOfAllScripts) {
  EXPECT_EQ(to_lower("The GODFATHER 2"), "the godfather 2");
  EXPECT_EQ(to_lower("AMÉLIE ÆON ЖИЗНЬ ΑΒΓ"), "amélie æon жизнь αβγ");
  EXPECT_EQ(to_lower("七人の侍 🎬"), "七人の侍 🎬");
  EXPECT_EQ(to_lower(""), "");
}

TEST(Lower, RefusesControlCharactersAndWhatIsNotUtf8) {
  for (std::string bad : {std::string("a\0b", 3), std::string("a\nb"), std::string("\x7f"), std::string("\xff"),
                          std::string("\xc3"), std::string("\xc0\x80"), std::string("\xf0\x9f\x8e"), std::string("\xe4x")}) {
    EXPECT_FALSE(to_lower(bad)) << bad;
  }
}

}  // namespace movies
