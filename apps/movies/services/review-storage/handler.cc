#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cache.h"
#include "checks.h"
#include "documents.h"
#include "idl/ReviewStorage.h"
#include "service.h"
#include "store.h"

namespace movies {
namespace {

using nlohmann::json;

constexpr const char* kTable = "reviews";

std::string cache_key(const std::string& id) { return "review:" + id; }

/** Errors: `Refused` if the text is not UTF-8, or has a 0 byte, which jsonb cannot store. */
std::string to_document(const Review& review) {
  json document = {{"review", review.review}, {"movie", review.movie}, {"user", review.user},
                   {"text", review.text},     {"stars", review.stars}, {"time_ms", review.time_ms}};
  try {
    if (review.text.find('\0') == std::string::npos) return document.dump();
  } catch (const json::type_error&) {
  }
  chassis::refuse(Code::BAD_REQUEST, "text takes UTF-8 without bytes of 0");
}

Review to_review(const json& document) {
  Review review;
  review.review = document.at("review").get<ReviewId>();
  review.movie = document.at("movie").get<MovieId>();
  review.user = document.at("user").get<UserId>();
  review.text = document.at("text").get<std::string>();
  review.stars = document.at("stars").get<int32_t>();
  review.time_ms = document.at("time_ms").get<int64_t>();
  return review;
}

}  // namespace

/** Keeps reviews by their number. They never change, so each question may be asked again. */
class ReviewStorageHandler : public ReviewStorageIf, public chassis::Base {
 public:
  explicit ReviewStorageHandler(chassis::Service& service)
      : Base(service), cache_(service.cache("reviews")), store_(service.store("reviews")) {}

  void store(const Review& review) override {
    chassis::check_range("review", review.review, 1, INT64_MAX);
    chassis::check_range("stars", review.stars, 1, 10);
    chassis::check_size("text", review.text, chassis::kLongestText);
    const std::string id = std::to_string(review.review);
    if (store_.insert(kTable, id, to_document(review))) return;
    // It exists: harmless if this request is a repetition.
    auto there = store_.get(kTable, id);
    if (there && to_review(chassis::parse_stored(*there, id)) == review) return;
    chassis::refuse(Code::CONFLICT, "review " + id + " exists with another content");
  }

  void readMany(std::vector<Review>& found, const std::vector<ReviewId>& reviews) override {
    chassis::check_range("the number of reviews", static_cast<int64_t>(reviews.size()), 0, chassis::kMostListed);
    std::vector<std::string> keys, missing;
    for (ReviewId review : reviews) keys.push_back(cache_key(std::to_string(review)));
    std::map<ReviewId, Review> by_id;
    for (const auto& [key, text] : cache_.get_many(keys)) {
      if (auto document = chassis::parse_document(text)) {
        Review review = to_review(*document);
        by_id[review.review] = review;
      }
    }
    for (ReviewId review : reviews) {
      if (!by_id.count(review)) missing.push_back(std::to_string(review));
    }
    chassis::Values to_cache;
    if (!missing.empty()) {
      for (const auto& [id, text] : store_.get_many(kTable, missing)) {
        Review review = to_review(chassis::parse_stored(text, id));
        by_id[review.review] = review;
        to_cache[cache_key(id)] = text;
      }
    }
    cache_.set_many(to_cache);
    for (ReviewId review : reviews) {
      auto there = by_id.find(review);
      if (there != by_id.end()) found.push_back(there->second);
    }
  }

 private:
  chassis::Cache& cache_;
  chassis::Store& store_;
};

}  // namespace movies

int main(int argc, char** argv) {
  return chassis::run<movies::ReviewStorageProcessor, movies::ReviewStorageHandler>(argc, argv, "review-storage");
}
