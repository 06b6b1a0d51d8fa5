#include "compose-review/sets.h"

#include <gtest/gtest.h>

#include <thread>

#include "clock.h"
#include "failure.h"

namespace movies {
namespace {

Part part(PartKind::type kind, int64_t number, const std::string& text = "") {
  Part part;
  part.kind = kind;
  part.number = number;
  part.text = text;
  return part;
}

int64_t in_a_second() { return chassis::now_ns() + 1'000'000'000; }

/** All parts but the last. */
void put_four(Sets& sets, RequestId request, int64_t end_ns) {
  Review review;
  for (const Part& one :
       {part(PartKind::ID, 5), part(PartKind::MOVIE, 1), part(PartKind::TEXT, 0, "Good."), part(PartKind::STARS, 9)}) {
    ASSERT_EQ(sets.put(request, one, end_ns, review), Sets::Now::kGathering);
  }
}

Code::type refused(Sets& sets, RequestId request, const Part& one, int64_t end_ns) {
  Review review;
  try {
    sets.put(request, one, end_ns, review);
  } catch (const Refused& refused) {
    return refused.code;
  }
  return Code::type(0);
}

}  // namespace

TEST(Sets, GiveTheReviewToWhoBringsTheFifthPart) {
  Sets sets;
  put_four(sets, 7, in_a_second());
  Review review;
  ASSERT_EQ(sets.put(7, part(PartKind::USER, 3), in_a_second(), review), Sets::Now::kComplete);
  EXPECT_EQ(review.review, 5);
  EXPECT_EQ(review.movie, 1);
  EXPECT_EQ(review.user, 3);
  EXPECT_EQ(review.text, "Good.");
  EXPECT_EQ(review.stars, 9);
  EXPECT_GT(review.time_ms, 1'600'000'000'000);
  sets.finish(7, true);
  EXPECT_EQ(sets.put(7, part(PartKind::USER, 3), in_a_second(), review), Sets::Now::kStored);
}

TEST(Sets, TakeAPartOnceMoreButNotAnother) {
  Sets sets;
  put_four(sets, 7, in_a_second());
  Review review;
  EXPECT_EQ(sets.put(7, part(PartKind::STARS, 9), in_a_second(), review), Sets::Now::kGathering);
  EXPECT_EQ(refused(sets, 7, part(PartKind::STARS, 8), in_a_second()), Code::CONFLICT);
}

TEST(Sets, RefuseWhatIsNotValid) {
  Sets sets;
  EXPECT_EQ(refused(sets, 1, part(PartKind::STARS, 11), in_a_second()), Code::BAD_REQUEST);
  EXPECT_EQ(refused(sets, 1, part(PartKind::USER, 0), in_a_second()), Code::BAD_REQUEST);
  EXPECT_EQ(refused(sets, 1, part(static_cast<PartKind::type>(9), 1), in_a_second()), Code::BAD_REQUEST);
  EXPECT_EQ(refused(sets, 1, part(PartKind::TEXT, 0, std::string(8193, 'x')), in_a_second()), Code::TOO_LARGE);
}

TEST(Sets, RefuseAPartOfASetThatHasExpired) {
  Sets sets;
  // Time enough for four parts on a busy machine.
  put_four(sets, 7, chassis::now_ns() + 200'000'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(201));
  EXPECT_EQ(refused(sets, 7, part(PartKind::USER, 3), in_a_second()), Code::UNAVAILABLE);
}

TEST(Sets, LetAPartThatComesOnceMoreWaitForTheStore) {
  Sets sets;
  put_four(sets, 7, in_a_second());
  Review review, other;
  ASSERT_EQ(sets.put(7, part(PartKind::USER, 3), in_a_second(), review), Sets::Now::kComplete);
  EXPECT_THROW(sets.put(7, part(PartKind::USER, 3), chassis::now_ns() + 1'000'000, other), chassis::DeadlineSpent);
  Sets::Now now{};
  std::thread waiting([&] { now = sets.put(7, part(PartKind::USER, 3), in_a_second() + 60'000'000'000, other); });
  sets.finish(7, true);
  waiting.join();
  EXPECT_EQ(now, Sets::Now::kStored);
}

TEST(Sets, LetAPartThatComesOnceMoreTryAgainWhatFailed) {
  Sets sets;
  put_four(sets, 7, in_a_second());
  Review review, other;
  ASSERT_EQ(sets.put(7, part(PartKind::USER, 3), in_a_second(), review), Sets::Now::kComplete);
  sets.finish(7, false);
  ASSERT_EQ(sets.put(7, part(PartKind::USER, 3), in_a_second(), other), Sets::Now::kComplete);
  EXPECT_EQ(other, review);
}

TEST(Sets, AreGivenToOneOfManyThreads) {
  Sets sets;
  std::atomic<int> complete{0};
  std::vector<std::thread> threads;
  for (int kind = 0; kind < 5; kind++) {
    threads.emplace_back([&, kind] {
      for (RequestId request = 0; request < 500; request++) {
        Review review;
        if (sets.put(request, part(static_cast<PartKind::type>(kind), 1, "x"), in_a_second() + 60'000'000'000, review) ==
            Sets::Now::kComplete) {
          complete++;
          sets.finish(request, true);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(complete, 500);
}

}  // namespace movies
