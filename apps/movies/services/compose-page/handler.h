#pragma once

#include "calls.h"
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

/** Gathers the content of a film's page. */
class ComposePageHandler : public ComposePageIf, public chassis::Base {
 public:
  explicit ComposePageHandler(chassis::Service& service);

  void compose(Page& page, MovieId movie, UserId user, int32_t start, int32_t n) override;

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
