#include "handler.h"
#include "idl/Plot.h"
#include "service.h"

int main(int argc, char** argv) { return chassis::run<movies::PlotProcessor, movies::PlotHandler>(argc, argv, "plot"); }
