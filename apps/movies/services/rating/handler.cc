#include "handler.h"

namespace movies {
namespace {

/** Expiry. A new review deletes the key; a value read before and cached after that lasts this long. Units: s. */
constexpr int kSeconds = 5;

}  // namespace

RatingHandler::RatingHandler(chassis::Service& service)
    : Base(service), ratings_(service.cache("movies"), service.store("movies"), "ratings", kSeconds) {}

void RatingHandler::read(Rating& rating, MovieId movie) {
  std::string id = std::to_string(movie);
  auto document = ratings_.read("rating:" + id, id);
  // A film that was never reviewed has no document.
  rating.count = document ? document->at("count").get<int64_t>() : 0;
  rating.mean = rating.count > 0 ? document->at("sum").get<double>() / static_cast<double>(rating.count) : 0;
}

}  // namespace movies
