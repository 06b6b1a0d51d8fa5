#include "context.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace chassis {

TEST(Trace, AgreesWithTheVectorsOfTheContract) {
  auto vectors = nlohmann::json::parse(std::ifstream(CONTRACT "/vectors.json")).at("traceparent");
  for (const auto& good : vectors.at("good")) {
    auto text = good.at("text").get<std::string>();
    auto trace = Trace::parse(text);
    ASSERT_TRUE(trace) << text;
    EXPECT_EQ(trace->is_sampled, good.at("sampled").get<bool>());
    EXPECT_EQ(trace->span, std::stoull(good.at("span").get<std::string>(), nullptr, 16));
    EXPECT_EQ(trace->text(), text);
  }
  for (const auto& bad : vectors.at("bad")) EXPECT_FALSE(Trace::parse(bad.get<std::string>())) << bad;
}

TEST(Context, OutsideOfARequestHasTheDefaultDeadline) {
  int64_t before = now_ns();
  Context context = Context::current();
  EXPECT_GE(context.deadline_ns, before + kDefaultDeadlineNs);
  EXPECT_FALSE(context.trace);
}

TEST(Decimal, TakesDigitsOnly) {
  EXPECT_EQ(parse_decimal("0"), 0);
  EXPECT_EQ(parse_decimal("000250"), 250);
  for (const char* bad : {"", "-1", "+1", " 1", "1.5", "1234567890", "0x1"}) EXPECT_FALSE(parse_decimal(bad)) << bad;
}

}  // namespace chassis
