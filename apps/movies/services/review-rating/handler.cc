#include "handler.h"

#include "checks.h"
#include "jump.h"

namespace movies {

ReviewRatingHandler::ReviewRatingHandler(chassis::Service& service)
    : Base(service), compose_review_(service.edge("compose-review", "put")) {}

void ReviewRatingHandler::upload(RequestId request, int32_t stars) {
  chassis::check_range("stars", stars, 1, 10);
  Part part;
  part.kind = PartKind::STARS;
  part.number = stars;
  chassis::call(
      service_.records, compose_review_, [&](auto& client) { client.send_put(request, part); },
      [](auto& client) { client.recv_put(); }, chassis::hash_of(request));
}

}  // namespace movies
