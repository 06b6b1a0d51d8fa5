#include <poll.h>
#include <signal.h>
#include <thrift/Thrift.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "clock.h"
#include "codec.h"
#include "failure.h"
#include "frame.h"
#include "inbox.h"
#include "log.h"
#include "server.h"
#include "service.h"
#include "socket.h"

namespace chassis {
namespace {

/** Source of these: the contract of the application. */
constexpr int64_t kPingEachNs = 50 * kNsPerMs, kGiveUpNs = 20'000 * kNsPerMs;
/** A ping is answered by the thread that reads, so within microseconds. */
constexpr int64_t kPingNs = 1000 * kNsPerMs;

/** Errors: `std::exception` if it does not answer. */
void ping(const Address& address) {
  const int64_t until = now_ns() + kPingNs;
  Socket socket = Socket::connect(address, until);
  auto buffer = std::make_shared<Buffer>();
  movies::ChassisClient(protocol_on(buffer)).send_ping();
  std::string_view message = written(*buffer);
  socket.send(length_before(message.size()), message, until);
  Inbox inbox;
  std::string_view body;
  while (inbox.peek_frame(body) == Inbox::Next::kIncomplete) {
    if (!wait_for(socket.descriptor(), POLLIN, until)) throw DeadlineSpent("no answer to a ping");
    if (inbox.read(socket.descriptor()) == Inbox::Got::kClosed) throw ConnectionLost("the end instead of an answer to a ping");
  }
  movies::ChassisClient(protocol_reading(body)).recv_ping();
}

/** Waits until the upstreams that are needed answer. Errors: `std::runtime_error`, which names the one that does not. */
void await_upstreams(const Service& service, const std::atomic<bool>& stopping) {
  const int64_t start = now_ns();
  for (const auto& [name, addresses] : service.config.upstreams) {
    if (service.config.optional.count(name)) continue;
    for (const Address& address : addresses) {
      while (!stopping) {
        try {
          ping(address);
          break;
        } catch (const std::exception& error) {
          if (now_ns() - start >= kGiveUpNs) {
            throw std::runtime_error("upstream " + name + " at " + address.text() +
                                     " did not answer a ping within 20 s: " + error.what());
          }
          usleep(kPingEachNs / 1000);
        }
      }
    }
  }
  while (!stopping && now_ns() - start < service.settle_ns()) usleep(kPingEachNs / 1000);
}

/** A reason not to go on. */
int failed(const std::string& why) {
  log_error(why);
  return 1;
}

int serve(const std::string& name, Config config, const std::function<std::shared_ptr<Processor>(Service&)>& make) {
  if (config.service != name) {
    return failed("`service` is `" + config.service + "`, and this program is that of " + name);
  }
  name_log(config.service, config.instance);
  Service service(std::move(config));
  Server server(service, make(service));
  std::atomic<bool> stopping{false};
  std::atomic<int> status{0};
  std::thread readiness([&] {
    try {
      await_upstreams(service, stopping);
      if (stopping) return;
      printf("ready %s %s\n", name.c_str(), service.config.listen.text().c_str());
      fflush(stdout);
    } catch (const std::exception& error) {
      status = failed(error.what());
      service.drain();
    }
  });
  server.run();
  stopping = true;
  readiness.join();
  return status;
}

}  // namespace

int run(int argc, char** argv, const std::string& name, const std::function<std::shared_ptr<Processor>(Service&)>& make) {
  name_log(name, 0);
  if (argc != 2) return failed("usage: movies-" + name + " CONFIGFILE");
  // Threads inherit the mask; the server reads these from a descriptor.
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  signal(SIGPIPE, SIG_IGN);
  // Silence the library's messages about bad input: the counters hold them.
  apache::thrift::GlobalOutput.setOutputFunction([](const char*) {});
  try {
    return serve(name, Config::read(argv[1]), make);
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

}  // namespace chassis
