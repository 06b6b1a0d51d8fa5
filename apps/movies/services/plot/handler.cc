#include <string>

#include "documents.h"
#include "failure.h"
#include "idl/Plot.h"
#include "service.h"

namespace movies {

/** The plot of a film. */
class PlotHandler : public PlotIf, public chassis::Base {
 public:
  explicit PlotHandler(chassis::Service& service)
      : Base(service), plots_(service.cache("movies"), service.store("movies"), "plots") {}

  void read(std::string& plot, MovieId movie) override {
    std::string id = std::to_string(movie);
    auto document = plots_.read("plot:" + id, id);
    if (!document) chassis::refuse(Code::NOT_FOUND, "movie " + id + " has no plot");
    plot = document->at("plot").get<std::string>();
  }

 private:
  chassis::Documents plots_;
};

}  // namespace movies

int main(int argc, char** argv) { return chassis::run<movies::PlotProcessor, movies::PlotHandler>(argc, argv, "plot"); }
