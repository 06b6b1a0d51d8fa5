#include <gtest/gtest.h>

#include "../../c/handles.h"
#include "failure.h"

namespace chassis {

TEST(Reason, IsThrownWhereAFunctionOfCReturnsFalse) {
  Reason reason;
  EXPECT_TRUE(reason.guarded([] {}));
  reason.check(true);
  EXPECT_THROW(reason.check(false), std::logic_error) << "a function of C that gives no reason";
  EXPECT_FALSE(reason.guarded([] { throw DeadlineSpent("late"); }));
  EXPECT_THROW(reason.check(false), DeadlineSpent);
  // A failure that C passed over, such as one of a part that may be missing.
  reason.check(true);
}

}  // namespace chassis
