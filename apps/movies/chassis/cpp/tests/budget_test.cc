#include "budget.h"

#include <gtest/gtest.h>

namespace chassis {

TEST(Budget, BeginsWithTenRetries) {
  Budget budget;
  for (int at = 0; at < 10; at++) EXPECT_TRUE(budget.spend());
  EXPECT_FALSE(budget.spend());
}

TEST(Budget, EarnsOneRetryWithTenCallsAndNeverMoreThanTen) {
  Budget budget;
  for (int at = 0; at < 1000; at++) budget.earn();
  for (int at = 0; at < 10; at++) EXPECT_TRUE(budget.spend());
  for (int at = 0; at < 9; at++) budget.earn();
  EXPECT_FALSE(budget.spend());
  budget.earn();
  EXPECT_TRUE(budget.spend());
}

}  // namespace chassis
