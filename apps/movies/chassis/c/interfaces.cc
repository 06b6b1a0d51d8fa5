#include "handles.h"
#include "idl/Photos.h"
#include "idl/Thumbnail.h"
#include "idl/UniqueId.h"

namespace {

/** A handler in C++ that asks a table of functions of C. */
template <class Interface, class Methods>
struct Adapter : public Interface, public chassis::Base {
  Adapter(chassis::Service& service, const Methods& methods) : Base(service), methods(methods) {}
  const Methods& methods;
};

struct Thumbnail : Adapter<movies::ThumbnailIf, thumbnail_methods> {
  using Adapter::Adapter;
  void read(std::string& picture, movies::MovieId movie) override {
    request request(service_);
    bytes* found = nullptr;
    request.check(methods.read(&request, movie, &found) && found);
    picture = std::move(found->text);
  }
};

struct Photos : Adapter<movies::PhotosIf, photos_methods> {
  using Adapter::Adapter;
  void read(std::vector<std::string>& photos, movies::MovieId movie, int32_t n) override {
    request request(service_);
    bytes* found[MOST_LISTED] = {};
    request.check(methods.read(&request, movie, n, found));
    for (bytes* photo : found) {
      if (photo) photos.push_back(std::move(photo->text));
    }
  }
};

struct UniqueId : Adapter<movies::UniqueIdIf, unique_id_methods> {
  using Adapter::Adapter;
  movies::ReviewId upload(movies::RequestId review_request) override {
    request request(service_);
    int64_t review = 0;
    request.check(methods.upload(&request, review_request, &review));
    return review;
  }
};

template <class Processor, class Handler, class Methods>
int run(int argc, char** argv, const std::string& name, const Methods& methods) {
  return chassis::run(argc, argv, name, [&](chassis::Service& core) {
    service begun(core);
    begun.check(methods.begin(&begun));
    return std::make_shared<Processor>(std::make_shared<Handler>(core, methods));
  });
}

}  // namespace

int thumbnail_run(int argc, char** argv, const thumbnail_methods* methods) {
  return run<movies::ThumbnailProcessor, Thumbnail>(argc, argv, "thumbnail", *methods);
}

int photos_run(int argc, char** argv, const photos_methods* methods) {
  return run<movies::PhotosProcessor, Photos>(argc, argv, "photos", *methods);
}

int unique_id_run(int argc, char** argv, const unique_id_methods* methods) {
  return run<movies::UniqueIdProcessor, UniqueId>(argc, argv, "unique-id", *methods);
}
