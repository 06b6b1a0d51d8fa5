#pragma once

#include <string>

#include "documents.h"
#include "idl/Plot.h"
#include "service.h"

namespace movies {

/** The plot of a film. */
class PlotHandler : public PlotIf, public chassis::Base {
 public:
  explicit PlotHandler(chassis::Service& service);

  void read(std::string& plot, MovieId movie) override;

 private:
  chassis::Documents plots_;
};

}  // namespace movies
