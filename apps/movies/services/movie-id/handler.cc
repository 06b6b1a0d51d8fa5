#include <openssl/sha.h>

#include <string>

#include "calls.h"
#include "checks.h"
#include "documents.h"
#include "idl/ComposeReview.h"
#include "idl/MovieIdService.h"
#include "jump.h"
#include "lower.h"
#include "service.h"

namespace movies {
namespace {

/** Keys of caches have no blanks and at most 250 bytes, which titles need not have. */
std::string sha1_hex(const std::string& text) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::string hex;
  for (unsigned char byte : digest) {
    hex.push_back("0123456789abcdef"[byte >> 4]);
    hex.push_back("0123456789abcdef"[byte & 15]);
  }
  return hex;
}

}  // namespace

/** Finds the film of a title, and sends its number to compose-review. */
class MovieIdHandler : public MovieIdServiceIf, public chassis::Base {
 public:
  explicit MovieIdHandler(chassis::Service& service)
      : Base(service),
        titles_(service.cache("movies"), service.store("movies"), "titles"),
        compose_review_(service.edge("compose-review", "put")) {}

  MovieId upload(RequestId request, const std::string& title) override {
    Part part;
    part.kind = PartKind::MOVIE;
    part.number = find(title);
    chassis::call(
        service_.records, compose_review_, [&](auto& client) { client.send_put(request, part); },
        [](auto& client) { client.recv_put(); }, chassis::hash_of(request));
    return part.number;
  }

 private:
  MovieId find(const std::string& title) {
    chassis::check_size("title", title, chassis::kLongestLine);
    auto lower = to_lower(title);
    if (!lower || lower->empty()) {
      chassis::refuse(Code::BAD_REQUEST, "title takes a text of UTF-8 without control characters, and not nothing");
    }
    auto document = titles_.read("title:" + sha1_hex(*lower), *lower);
    if (!document) chassis::refuse(Code::NOT_FOUND, "no movie has the title `" + title + "`");
    return document->at("movie").get<MovieId>();
  }

  chassis::Documents titles_;
  chassis::To<ComposeReviewClient> compose_review_;
};

}  // namespace movies

int main(int argc, char** argv) {
  return chassis::run<movies::MovieIdServiceProcessor, movies::MovieIdHandler>(argc, argv, "movie-id");
}
