#include <algorithm>
#include <utility>
#include <vector>

#include "calls.h"
#include "checks.h"
#include "idl/CastInfo.h"
#include "idl/ComposePage.h"
#include "idl/MovieInfo.h"
#include "idl/MovieRecommender.h"
#include "idl/Photos.h"
#include "idl/Plot.h"
#include "idl/RatingService.h"
#include "idl/Reviews.h"
#include "idl/Thumbnail.h"
#include "idl/Videos.h"
#include "service.h"

namespace movies {
namespace {

/** How many similar films a page shows: one row of it. */
constexpr int32_t kSimilar = 10;

/** Parts get this share of the remaining time, so that a page without a slow part is still in time. */
constexpr int64_t kShareNumerator = 9, kShareDenominator = 10;

int64_t end_of_parts() {
  const int64_t now = chassis::now_ns();
  return now + (chassis::Context::current().deadline_ns - now) * kShareNumerator / kShareDenominator;
}

/** The calls for the parts of one page, each of which may fail. */
class Parts {
 public:
  explicit Parts(chassis::Records& records) : records_(records), calls_(records, end_of_parts()) {}

  /** `place` stays unchanged if the call fails. */
  template <class Client, class Value, class Send>
  const chassis::Call& ask(const chassis::To<Client>& to, Send send, void (Client::*receive)(Value&), Value& place) {
    auto into = [receive, &place](Client& client) {
      Value value;
      (client.*receive)(value);
      place = std::move(value);
    };
    const chassis::Call& call = calls_.start(to, send, into);
    asked_.emplace_back(to.edge.upstream.name, &call);
    return call;
  }

  /** Waits for all. Returns the services whose part is missing. */
  std::vector<std::string> finish() {
    calls_.finish();
    std::vector<std::string> missing;
    for (const auto& [name, call] : asked_) {
      if (call->error()) missing.push_back(name);
    }
    records_.counters.degraded += static_cast<int64_t>(missing.size());
    return missing;
  }

 private:
  chassis::Records& records_;
  chassis::Calls calls_;
  std::vector<std::pair<std::string, const chassis::Call*>> asked_;
};

}  // namespace

/** Gathers the content of a film's page. */
class ComposePageHandler : public ComposePageIf, public chassis::Base {
 public:
  explicit ComposePageHandler(chassis::Service& service)
      : Base(service),
        info_(service.edge("movie-info", "read")),
        plot_(service.edge("plot", "read")),
        thumbnail_(service.edge("thumbnail", "read")),
        rating_(service.edge("rating", "read")),
        cast_(service.edge("cast-info", "read")),
        reviews_(service.edge("reviews", "page")),
        photos_(service.edge("photos", "read")),
        videos_(service.edge("videos", "read")),
        recommender_(service.edge("movie-recommender", "like")) {}

  void compose(Page& page, MovieId movie, UserId user, int32_t start, int32_t n) override {
    chassis::check_start(start);
    chassis::check_count(n);
    // First, since the other calls need its answer; without it the page fails.
    chassis::call(
        service_.records, info_, [&](auto& client) { client.send_read(movie); },
        [&](auto& client) { client.recv_read(page.info); });
    const int32_t photos = std::clamp(page.info.photos, 0, chassis::kMostListed);
    std::vector<int64_t> cast = page.info.cast;
    if (cast.size() > static_cast<size_t>(chassis::kMostListed)) cast.resize(static_cast<size_t>(chassis::kMostListed));

    Video video;
    Parts parts(service_.records);
    auto read = [&](auto& client) { client.send_read(movie); };
    parts.ask(plot_, read, &PlotClient::recv_read, page.plot);
    parts.ask(thumbnail_, read, &ThumbnailClient::recv_read, page.thumbnail);
    parts.ask(rating_, read, &RatingServiceClient::recv_read, page.rating);
    parts.ask(
        cast_, [&](auto& client) { client.send_read(cast); }, &CastInfoClient::recv_read, page.cast);
    parts.ask(
        reviews_, [&](auto& client) { client.send_page(movie, start, n); }, &ReviewsClient::recv_page, page.reviews);
    parts.ask(
        photos_, [&](auto& client) { client.send_read(movie, photos); }, &PhotosClient::recv_read, page.photos);
    const chassis::Call& videos = parts.ask(videos_, read, &VideosClient::recv_read, video);
    parts.ask(
        recommender_, [&](auto& client) { client.send_like(user, movie, kSimilar); }, &MovieRecommenderClient::recv_like,
        page.similar);
    page.missing = parts.finish();
    if (!videos.error()) page.__set_video(video);
  }

 private:
  chassis::To<MovieInfoClient> info_;
  chassis::To<PlotClient> plot_;
  chassis::To<ThumbnailClient> thumbnail_;
  chassis::To<RatingServiceClient> rating_;
  chassis::To<CastInfoClient> cast_;
  chassis::To<ReviewsClient> reviews_;
  chassis::To<PhotosClient> photos_;
  chassis::To<VideosClient> videos_;
  chassis::To<MovieRecommenderClient> recommender_;
};

}  // namespace movies

int main(int argc, char** argv) {
  return chassis::run<movies::ComposePageProcessor, movies::ComposePageHandler>(argc, argv, "compose-page");
}
