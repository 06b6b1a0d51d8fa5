/** Prints what a call of a service on this machine costs, untraced and traced: the median of rounds that alternate. */

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "calls.h"
#include "idl/Plot.h"
#include "server.h"

namespace {

using namespace chassis;

struct Handler : public movies::PlotIf, public Base {
  using Base::Base;
  void read(std::string& plot, movies::MovieId) override { plot = "Good."; }
};

constexpr int kRounds = 40, kCalls = 2000;
constexpr uint16_t kPort = 34599;

Config config_of(const std::string& name, uint16_t port, const std::string& folder) {
  Config config;
  config.service = name;
  config.id = 6;
  config.listen = {"127.0.0.1", port};
  config.threads = 1;
  config.queue = 8;
  config.spans = folder + "/" + name + ".spans";
  config.upstreams["plot"] = {{"127.0.0.1", kPort}};
  return config;
}

/** Units: ns for a call. */
double round_of(Records& records, const To<movies::PlotClient>& plot, bool is_traced) {
  Context context;
  if (is_traced) context.trace = Trace{{1}, 1, true};
  std::string text;
  int64_t start = now_ns();
  for (int at = 0; at < kCalls; at++) {
    context.deadline_ns = now_ns() + kDefaultDeadlineNs;
    Context::set_current(&context);
    call(
        records, plot, [](auto& client) { client.send_read(1); }, [&](auto& client) { client.recv_read(text); });
  }
  Context::set_current(nullptr);
  return static_cast<double>(now_ns() - start) / kCalls;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  char name[] = "/dev/shm/movies-cpp-bench-XXXXXX";
  std::string folder = mkdtemp(name);
  std::vector<double> untraced, traced, differences;
  {
    Service callee(config_of("plot", kPort, folder)), caller(config_of("compose-page", kPort + 1, folder));
    Server server(callee, std::make_shared<movies::PlotProcessor>(std::make_shared<Handler>(callee)));
    std::thread serving([&] { server.run(); });
    To<movies::PlotClient> plot(caller.edge("plot", "read"));
    round_of(caller.records, plot, true);
    for (int round = 0; round < kRounds; round++) {
      untraced.push_back(round_of(caller.records, plot, false));
      traced.push_back(round_of(caller.records, plot, true));
      differences.push_back(traced.back() - untraced.back());
    }
    callee.drain();
    serving.join();
  }
  printf("untraced %.0f ns, traced %.0f ns, difference %.0f ns: medians of %d rounds of %d calls\n", median(untraced),
         median(traced), median(differences), kRounds, kCalls);
  for (const char* file : {"/plot.spans", "/compose-page.spans"}) unlink((folder + file).c_str());
  rmdir(folder.c_str());
}
