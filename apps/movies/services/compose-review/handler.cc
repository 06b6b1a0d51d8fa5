#include <string>

#include "calls.h"
#include "failure.h"
#include "idl/ComposeReview.h"
#include "idl/MovieReview.h"
#include "idl/ReviewStorage.h"
#include "idl/UserReview.h"
#include "service.h"
#include "sets.h"

namespace movies {

/**
 * A process that ends loses its parts, although their senders had a successful answer. A request lives no longer than this,
 * so the next process accepts none of its remaining parts; otherwise it would gather them for a set that never completes,
 * and all five senders would have a successful answer without a review.
 */
constexpr int64_t kSettleNs = chassis::kDefaultDeadlineNs;

/** Gathers the five parts of a review, and stores it with the last. */
class ComposeReviewHandler : public ComposeReviewIf, public chassis::Base {
 public:
  explicit ComposeReviewHandler(chassis::Service& service)
      : Base(service),
        storage_(service.edge("review-storage", "store")),
        movie_review_(service.edge("movie-review", "append")),
        user_review_(service.edge("user-review", "append")),
        settled_ns_(chassis::now_ns() + kSettleNs) {
    service.settle(kSettleNs);
  }

  bool put(RequestId request, const Part& part) override {
    if (chassis::now_ns() < settled_ns_) {
      chassis::refuse(Code::UNAVAILABLE, "parts that were put before the start are lost; try again in 2 s");
    }
    Review review;
    switch (sets_.put(request, part, chassis::Context::current().deadline_ns, review)) {
      case Sets::Now::kGathering:
        return false;
      case Sets::Now::kStored:
        return true;
      case Sets::Now::kComplete:
        break;
    }
    try {
      store(review);
    } catch (...) {
      sets_.finish(request, false);
      throw;
    }
    sets_.finish(request, true);
    return true;
  }

 private:
  /**
   * Stores the review before its place in the lists: if this or another process is killed in between, a list still names only
   * existing reviews. At worst a review remains that no list names; its author got an error.
   */
  void store(const Review& review) {
    chassis::call(
        service_.records, storage_, [&](auto& client) { client.send_store(review); },
        [](auto& client) { client.recv_store(); });
    chassis::Calls lists(service_.records);
    lists.start(
        movie_review_, [&](auto& client) { client.send_append(review.movie, review.review, review.stars, review.user); },
        [](auto& client) { client.recv_append(); });
    lists.start(
        user_review_, [&](auto& client) { client.send_append(review.user, review.review, review.movie); },
        [](auto& client) { client.recv_append(); });
    lists.finish_all();
  }

  chassis::To<ReviewStorageClient> storage_;
  chassis::To<MovieReviewClient> movie_review_;
  chassis::To<UserReviewClient> user_review_;
  Sets sets_;
  const int64_t settled_ns_;
};

}  // namespace movies

int main(int argc, char** argv) {
  return chassis::run<movies::ComposeReviewProcessor, movies::ComposeReviewHandler>(argc, argv, "compose-review");
}
