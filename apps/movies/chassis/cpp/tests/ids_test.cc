extern "C" {
#include "unique-id/ids.h"
}

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "clock.h"

namespace chassis {
namespace {

/** 2020-01-01T00:00:00Z. Units: ms since 1970. */
constexpr int64_t kEpochMs = 1577836800000;

}  // namespace

TEST(Ids, HaveTheirPartsInTheirPlaces) {
  ids ids{1023, 0};
  int64_t id = ids_next_at(&ids, kEpochMs + 5);
  EXPECT_EQ(id >> 22, 5);
  EXPECT_EQ(id >> 12 & 1023, 1023);
  EXPECT_EQ(id & 4095, 0);
  EXPECT_EQ(ids_next_at(&ids, kEpochMs + 5), id + 1);
}

TEST(Ids, GoOnWhenTheClockGoesBack) {
  ids ids{1, 0};
  int64_t last = ids_next_at(&ids, kEpochMs + 1000);
  for (int64_t wall : {kEpochMs + 999, kEpochMs, kEpochMs - 1, int64_t{0}, int64_t{-5}, kEpochMs + 1000, kEpochMs + 1001}) {
    int64_t id = ids_next_at(&ids, wall);
    EXPECT_GT(id, last);
    EXPECT_EQ(id >> 12 & 1023, 1);
    last = id;
  }
}

TEST(Ids, GoOnWhenAMillisecondIsFull) {
  ids ids{2, 0};
  int64_t last = 0;
  for (int at = 0; at < 3 * 4096; at++) {
    int64_t id = ids_next_at(&ids, kEpochMs + 7);
    ASSERT_GT(id, last);
    ASSERT_EQ(id >> 12 & 1023, 2);
    last = id;
  }
  EXPECT_EQ(last >> 22, 9);
}

TEST(Ids, RepeatNoneOverThreadsAndARestart) {
  constexpr size_t kThreads = 8, kEach = 50'000;
  std::vector<int64_t> made(2 * kThreads * kEach);
  for (size_t life = 0; life < 2; life++) {
    ids ids;
    ids_begin(&ids, 17);
    std::vector<std::thread> threads;
    for (size_t thread = 0; thread < kThreads; thread++) {
      threads.emplace_back([&, begin = made.begin() + static_cast<std::ptrdiff_t>((life * kThreads + thread) * kEach)] {
        std::generate_n(begin, kEach, [&] { return ids_next(&ids); });
      });
    }
    for (std::thread& thread : threads) thread.join();
    // The test draws more than the 4096 numbers that a millisecond has room for, so their times run ahead of the clock.
    while (ids_next(&ids) >> 22 > wall_ms() - kEpochMs) std::this_thread::yield();
  }
  std::sort(made.begin(), made.end());
  EXPECT_EQ(std::adjacent_find(made.begin(), made.end()), made.end());
}

}  // namespace chassis
