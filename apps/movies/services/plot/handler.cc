#include "handler.h"

#include "failure.h"

namespace movies {

PlotHandler::PlotHandler(chassis::Service& service)
    : Base(service), plots_(service.cache("movies"), service.store("movies"), "plots") {}

void PlotHandler::read(std::string& plot, MovieId movie) {
  std::string id = std::to_string(movie);
  auto document = plots_.read("plot:" + id, id);
  if (!document) chassis::refuse(Code::NOT_FOUND, "movie " + id + " has no plot");
  plot = document->at("plot").get<std::string>();
}

}  // namespace movies
