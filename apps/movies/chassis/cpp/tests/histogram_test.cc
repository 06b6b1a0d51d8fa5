#include "histogram.h"

#include <gtest/gtest.h>

namespace chassis {

TEST(Histogram, HasBucketsOfAnEighth) {
  const std::pair<uint64_t, size_t> cases[] = {{0, 0},   {7, 7},   {8, 8},   {15, 15}, {16, 16}, {17, 16}, {18, 17},
                                               {31, 23}, {32, 24}, {35, 24}, {36, 25}, {1000, 63}};
  for (auto [ns, bucket] : cases) EXPECT_EQ(Histogram::bucket(ns), bucket) << ns;
  EXPECT_EQ(Histogram::bucket(Histogram::kMost - 1), Histogram::kBuckets - 2);
  EXPECT_EQ(Histogram::bucket(Histogram::kMost), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::bucket(UINT64_MAX), Histogram::kBuckets - 1);
  for (uint64_t ns = 1; ns < 1'000'000; ns++) EXPECT_LE(Histogram::bucket(ns) - Histogram::bucket(ns - 1), 1u);
}

TEST(Histogram, SaysWhatIsNotEmpty) {
  Histogram histogram;
  for (int64_t ns : {3, 1000, 1001, 3}) histogram.add(ns);
  std::map<std::string, int64_t> out;
  histogram.append_to(out, "edge");
  EXPECT_EQ(out, (std::map<std::string, int64_t>{{"edge.3", 2}, {"edge.63", 2}}));
}

}  // namespace chassis
