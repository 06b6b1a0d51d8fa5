#include "cache_text.h"

#include <gtest/gtest.h>

#include <random>

namespace chassis {

TEST(CacheText, ReadsValuesWithAnyBytes) {
  Values values;
  size_t used = 0;
  const std::string value("\r\nx\0y", 5);
  std::string text = "VALUE a 0 5\r\n" + value + "\r\nVALUE b 0 0\r\n\r\nEND\r\nrest";
  ASSERT_EQ(parse_values(text, values, used), Answer::kWhole);
  EXPECT_EQ(values.size(), 2u);
  EXPECT_EQ(values["a"], value);
  EXPECT_EQ(values["b"], "");
  EXPECT_EQ(text.substr(used), "rest");
}

TEST(CacheText, EveryBeginningOfAnAnswerIsIncomplete) {
  std::string text = "VALUE key 7 3 99\r\nabc\r\nEND\r\n";
  for (size_t size = 0; size < text.size(); size++) {
    Values values;
    size_t used = 0;
    EXPECT_EQ(parse_values(text.substr(0, size), values, used), Answer::kIncomplete) << size;
  }
}

TEST(CacheText, RefusesAnythingElse) {
  for (std::string text : {"ERROR\r\n", "VALUE a\r\n", "VALUE a 0 -1\r\nEND\r\n", "VALUE a 0 999999999\r\n",
                           "VALUE a 0 1\r\nabcEND\r\n", "SERVER_ERROR out of memory\r\n"}) {
    Values values;
    size_t used = 0;
    EXPECT_EQ(parse_values(text, values, used), Answer::kBad) << text;
  }
  Values values;
  size_t used = 0;
  EXPECT_EQ(parse_values(std::string(1000, 'x'), values, used), Answer::kBad);
}

TEST(CacheText, TakesRandomBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; round++) {
    std::string text = "VALUE a 0 3\r\nabc\r\nEND\r\n";
    for (size_t changes = 1 + random() % 4; changes > 0; changes--) text[random() % text.size()] = static_cast<char>(random());
    Values values;
    size_t used = 0;
    if (parse_values(text, values, used) != Answer::kWhole) continue;
    EXPECT_LE(used, text.size());
  }
}

}  // namespace chassis
