#include "breaker.h"

#include <gtest/gtest.h>

namespace chassis {
namespace {

using Admitted = Breaker::Admitted;

TEST(Breaker, OpensAfterTimeOutsInARowAndClosesWithAnAnswer) {
  Breaker breaker;
  int64_t now = 1;
  for (int n = 0; n < Breaker::kTimeOuts - 1; n++) breaker.ended(true, Admitted::kCall, now);
  breaker.ended(false, Admitted::kCall, now);
  for (int n = 0; n < Breaker::kTimeOuts; n++) {
    EXPECT_EQ(breaker.admits(now), Admitted::kCall);
    breaker.ended(true, Admitted::kCall, now);
  }
  EXPECT_EQ(breaker.admits(now), Admitted::kNo);
  // One that began before.
  breaker.ended(true, Admitted::kCall, now + Breaker::kLongestNs);
  now += Breaker::kFirstNs;
  EXPECT_EQ(breaker.admits(now), Admitted::kTry);
  EXPECT_EQ(breaker.admits(now), Admitted::kNo);
  breaker.ended(true, Admitted::kTry, now);
  now += Breaker::kFirstNs;
  EXPECT_EQ(breaker.admits(now), Admitted::kNo);
  now += Breaker::kFirstNs;
  EXPECT_EQ(breaker.admits(now), Admitted::kTry);
  breaker.ended(false, Admitted::kTry, now);
  EXPECT_EQ(breaker.admits(now), Admitted::kCall);
  std::map<std::string, int64_t> all;
  breaker.append_to(all, "breaker.ads");
  EXPECT_EQ(all, (std::map<std::string, int64_t>{{"breaker.ads.open", 0}, {"breaker.ads.opened", 1}, {"breaker.ads.refused", 3}}));
}

TEST(Breaker, WaitsNoLongerThanItsBound) {
  Breaker breaker;
  int64_t now = 1;
  for (int n = 0; n < Breaker::kTimeOuts; n++) breaker.ended(true, Admitted::kCall, now);
  for (int n = 0; n < 20; n++) {
    now += Breaker::kLongestNs;
    EXPECT_EQ(breaker.admits(now), Admitted::kTry);
    breaker.ended(true, Admitted::kTry, now);
  }
}

}  // namespace
}  // namespace chassis
