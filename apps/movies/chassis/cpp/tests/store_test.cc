#include "store.h"

#include <gtest/gtest.h>

#include "failure.h"

namespace chassis {

TEST(Store, QuotesTextsOfArrays) {
  EXPECT_EQ(array_literal({}), "{}");
  EXPECT_EQ(array_literal({"1", "22"}), R"({"1","22"})");
  EXPECT_EQ(array_literal({R"(a"b\c,{})"}), R"({"a\"b\\c,{}"})");
}

TEST(Store, IsUnavailableWhereNoDatabaseIs) {
  Config config;
  Records records(config);
  Store store(records, "movies", {"postgresql://movies@/movies?host=/nowhere&port=5432"});
  EXPECT_THROW(store.get("plots", "1"), Unavailable);
}

}  // namespace chassis
