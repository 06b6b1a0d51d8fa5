#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <thread>

#include "codec.h"
#include "idl/Plot.h"
#include "server.h"

namespace chassis {

constexpr int64_t kHang = 60'000'000'000;

inline uint16_t free_port() {
  Socket socket = Socket::listen({"127.0.0.1", 0});
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

inline Config config_of(const std::string& service) {
  Config config;
  config.service = service;
  config.id = 6;
  config.listen = {"127.0.0.1", free_port()};
  config.threads = 2;
  config.queue = 4;
  return config;
}

/** A service `plot` whose answers a test gives. */
class PlotServer {
 public:
  using Answer = std::function<std::string(int64_t)>;

  explicit PlotServer(Answer answer, Config given = config_of("plot"))
      : service(std::move(given)), server_(service, processor(service, std::move(answer))), thread_([this] { server_.run(); }) {}

  ~PlotServer() {
    service.drain();
    thread_.join();
  }

  Service service;

 private:
  struct Handler : public movies::PlotIf, public Base {
    Handler(Service& service, Answer answer) : Base(service), answer(std::move(answer)) {}
    void read(std::string& plot, movies::MovieId movie) override { plot = answer(movie); }
    Answer answer;
  };

  static std::shared_ptr<Processor> processor(Service& service, Answer answer) {
    return std::make_shared<movies::PlotProcessor>(std::make_shared<Handler>(service, std::move(answer)));
  }

  Server server_;
  std::thread thread_;
};

/** Waits until `condition` holds; a test that waits for a minute hangs. */
inline void await(const std::function<bool()>& condition) {
  int64_t end = now_ns() + kHang;
  while (!condition()) {
    ASSERT_LT(now_ns(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/** The message of `read(movie)`. */
inline std::string read_message(int64_t movie) {
  auto buffer = std::make_shared<Buffer>();
  movies::PlotClient(protocol_on(buffer)).send_read(movie);
  return std::string(written(*buffer));
}

/** A connection that frames are written to by hand. */
struct RawClient {
  explicit RawClient(const PlotServer& server) : socket(Socket::connect(server.service.config.listen, now_ns() + kHang)) {}

  void send(const std::string& bytes) { socket.send(bytes, "", now_ns() + kHang); }

  /** The body of the next frame; empty if the connection ended. */
  std::string receive() {
    std::string_view body;
    while (inbox.peek_frame(body) == Inbox::Next::kIncomplete) {
      EXPECT_TRUE(wait_for(socket.descriptor(), POLLIN, now_ns() + kHang));
      if (inbox.read(socket.descriptor()) == Inbox::Got::kClosed) return "";
    }
    std::string copy(body);
    inbox.consume(4 + copy.size());
    return copy;
  }

  /** The answer of `read`, or the text of the exception. */
  static std::string plot_in(const std::string& body) {
    auto frame = Frame::parse(body);
    if (!frame) return "no frame";
    std::string plot;
    try {
      movies::PlotClient(protocol_reading(frame->message)).recv_read(plot);
    } catch (const apache::thrift::TApplicationException& exception) {
      return exception.what();
    } catch (const movies::Refused& refused) {
      return "refused: " + refused.reason;
    }
    return plot;
  }

  Socket socket;
  Inbox inbox;
};

inline std::string plain(const std::string& message) { return length_before(message.size()) + message; }

}  // namespace chassis
