#include "documents.h"
#include "idl/RatingService.h"
#include "service.h"

namespace movies {

/** Expiry. A new review deletes the key; a value read before and cached after that lasts this long. Units: s. */
constexpr int kSeconds = 5;

/** The mean of the stars that a film was given. */
class RatingHandler : public RatingServiceIf, public chassis::Base {
 public:
  explicit RatingHandler(chassis::Service& service)
      : Base(service), ratings_(service.cache("movies"), service.store("movies"), "ratings", kSeconds) {}

  void read(Rating& rating, MovieId movie) override {
    std::string id = std::to_string(movie);
    auto document = ratings_.read("rating:" + id, id);
    // A film that was never reviewed has no document.
    rating.count = document ? document->at("count").get<int64_t>() : 0;
    rating.mean = rating.count > 0 ? document->at("sum").get<double>() / static_cast<double>(rating.count) : 0;
  }

 private:
  chassis::Documents ratings_;
};

}  // namespace movies

int main(int argc, char** argv) {
  return chassis::run<movies::RatingServiceProcessor, movies::RatingHandler>(argc, argv, "rating");
}
