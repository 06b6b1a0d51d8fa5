#include "server.h"

#include <filesystem>
#include <fstream>
#include <future>

#include "failure.h"
#include "fixture.h"

namespace chassis {
namespace {

std::string echo(int64_t movie) { return "plot " + std::to_string(movie); }

}  // namespace

TEST(Server, AnswersAPlainFramePlainlyAndAHeaderFrameWithTimes) {
  PlotServer server(echo);
  RawClient client(server);
  client.send(plain(read_message(7)));
  std::string body = client.receive();
  EXPECT_FALSE(Frame::parse(body)->has_header);
  EXPECT_EQ(RawClient::plot_in(body), "plot 7");

  std::string message = read_message(8);
  client.send(header_before(99, {{"d", "1000"}}, message.size()) + message);
  body = client.receive();
  EXPECT_EQ(Frame::parse(body)->sequence, 99u);
  EXPECT_NE(body.find(std::string("\1s", 2)), std::string::npos);
  EXPECT_EQ(RawClient::plot_in(body), "plot 8");
  EXPECT_EQ(server.service.records.counters.requests, 2);
}

TEST(Server, AnswersRequestsOfOneConnectionInOrder) {
  PlotServer server(echo);
  RawClient client(server);
  std::string all;
  for (int at = 0; at < 100; at++) all += plain(read_message(at));
  client.send(all);
  for (int at = 0; at < 100; at++) EXPECT_EQ(RawClient::plot_in(client.receive()), echo(at));
}

TEST(Server, TakesAFrameInPieces) {
  PlotServer server(echo);
  RawClient client(server);
  for (char byte : plain(read_message(3))) client.send(std::string(1, byte));
  EXPECT_EQ(RawClient::plot_in(client.receive()), "plot 3");
}

TEST(Server, ServesManyMoreConnectionsThanItHasThreads) {
  PlotServer server(echo);
  std::deque<RawClient> clients;
  for (int at = 0; at < 100; at++) clients.emplace_back(server);
  for (int round = 0; round < 3; round++) {
    for (RawClient& client : clients) {
      client.send(plain(read_message(round)));
      EXPECT_EQ(RawClient::plot_in(client.receive()), echo(round));
    }
  }
  EXPECT_EQ(server.service.records.counters.connections, 100);
}

TEST(Server, ClosesAConnectionWithABadFrameAndNoOther) {
  PlotServer server(echo);
  RawClient good(server);
  std::vector<std::string> bad = {"GET / HTTP/1.1\r\n\r\n",
                                  std::string(4, '\0'),
                                  plain("xyz"),
                                  plain("\x80\x01"),
                                  std::string("\xff\xff\xff\xff", 4),
                                  plain(read_message(1).substr(0, 20))};
  for (const std::string& bytes : bad) {
    RawClient client(server);
    client.send(bytes);
    EXPECT_EQ(client.receive(), "") << bytes;
  }
  await([&] { return server.service.records.counters.bad_frames == static_cast<int64_t>(bad.size()); });
  good.send(plain(read_message(1)));
  EXPECT_EQ(RawClient::plot_in(good.receive()), "plot 1");
}

TEST(Server, RefusesWhenTheTimeIsSpent) {
  PlotServer server(echo);
  RawClient client(server);
  std::string message = read_message(8);
  client.send(header_before(1, {{"d", "0"}}, message.size()) + message);
  EXPECT_EQ(RawClient::plot_in(client.receive()).rfind("deadline: ", 0), 0u);
  EXPECT_EQ(server.service.records.counters.deadline, 1);
}

TEST(Server, RefusesWhenTheQueueIsFullButAnswersPings) {
  std::promise<void> go;
  std::shared_future<void> gone(go.get_future());
  std::atomic<int> inside{0};
  PlotServer server([&](int64_t movie) {
    inside++;
    gone.wait();
    return echo(movie);
  });
  // 2 threads and 4 places.
  std::deque<RawClient> clients;
  for (int at = 0; at < 6; at++) {
    clients.emplace_back(server).send(plain(read_message(at)));
    // The first two are with the threads before others take their places.
    if (at < 2) await([&] { return inside > at; });
  }
  RawClient late(server);
  await([&] {
    late.send(plain(read_message(9)));
    return RawClient::plot_in(late.receive()).rfind("overloaded: ", 0) == 0;
  });
  auto buffer = std::make_shared<Buffer>();
  movies::ChassisClient(protocol_on(buffer)).send_ping();
  late.send(plain(std::string(written(*buffer))));
  std::string body = late.receive();
  EXPECT_GT(movies::ChassisClient(protocol_reading(body)).recv_ping(), 0);
  go.set_value();
  for (RawClient& client : clients) EXPECT_EQ(RawClient::plot_in(client.receive()).rfind("plot ", 0), 0u);
  EXPECT_GE(server.service.records.counters.overloaded, 1);
}

TEST(Server, SaysWhatAHandlerThrew) {
  PlotServer server([](int64_t movie) -> std::string {
    if (movie == 1) refuse(movies::Code::NOT_FOUND, "no plot");
    if (movie == 2) throw Unavailable("movies-db: gone");
    if (movie == 3) throw DeadlineSpent("late");
    throw std::out_of_range("bug");
  });
  RawClient client(server);
  auto ask = [&](int64_t movie) {
    client.send(plain(read_message(movie)));
    return RawClient::plot_in(client.receive());
  };
  EXPECT_EQ(ask(1), "refused: no plot");
  EXPECT_EQ(ask(2), "unavailable: movies-db: gone");
  EXPECT_EQ(ask(3), "deadline: late");
  EXPECT_EQ(ask(4), "internal: bug");
  const Counters& counters = server.service.records.counters;
  EXPECT_EQ(counters.refused, 1);
  EXPECT_EQ(counters.deadline, 1);
  EXPECT_EQ(counters.errors, 2);
}

TEST(Server, SaysThatAnAnswerIsLargerThanAFrame) {
  PlotServer server([](int64_t) { return std::string(kFrameLimit, 'x'); });
  RawClient client(server);
  client.send(plain(read_message(1)));
  EXPECT_EQ(RawClient::plot_in(client.receive()), "unavailable: the answer is larger than a frame of 16777216 bytes");
  EXPECT_EQ(server.service.records.counters.errors, 1);
}

TEST(Server, EndsRequestsUnderWayBeforeItStops) {
  std::promise<void> begun;
  RawClient* client = nullptr;
  std::unique_ptr<RawClient> made;
  std::thread drainer;
  {
    PlotServer server([&](int64_t movie) {
      begun.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return echo(movie);
    });
    made = std::make_unique<RawClient>(server);
    client = made.get();
    client->send(plain(read_message(5)));
    begun.get_future().wait();
  }
  EXPECT_EQ(RawClient::plot_in(client->receive()), "plot 5");
  EXPECT_EQ(client->receive(), "");
}

TEST(Server, WritesASpanOfASampledRequestOnly) {
  Config config = config_of("plot");
  config.spans = (std::filesystem::temp_directory_path() / ("movies-cpp-server-" + std::to_string(getpid()))).string();
  {
    PlotServer server(echo, config);
    RawClient client(server);
    std::string message = read_message(8);
    for (const char* flags : {"01", "00"}) {
      std::string trace = std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-") + flags;
      client.send(header_before(1, {{"traceparent", trace}}, message.size()) + message);
      client.receive();
    }
    client.send(plain(message));
    client.receive();
  }
  std::ifstream file(config.spans, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove(config.spans);
  ASSERT_EQ(bytes.size(), 256u);
  Span span;
  std::memcpy(static_cast<void*>(&span), bytes.data() + 128, sizeof span);
  EXPECT_EQ(span.kind, Kind::kServer);
  EXPECT_EQ(span.service, 6);
  EXPECT_EQ(span.method, 0);
  EXPECT_EQ(span.parent, 0x00f067aa0ba902b7u);
  EXPECT_EQ(span.trace[0], 0x4b);
  for (size_t at = 1; at < 6; at++) EXPECT_GE(span.stamps[at], span.stamps[at - 1]);
  EXPECT_GT(span.cpu_ns, 0);
}

}  // namespace chassis
