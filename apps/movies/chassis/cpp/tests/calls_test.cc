#include "calls.h"

#include <future>

#include "failure.h"
#include "fixture.h"
#include "jump.h"

namespace chassis {
namespace {

/** A service that calls others. */
struct Caller {
  explicit Caller(std::vector<Address> addresses, std::map<std::string, int> deadlines_ms = {}, bool is_optional = false)
      : service(config(std::move(addresses), std::move(deadlines_ms), is_optional)), edge(service.edge("plot", "read")) {}

  static Config config(std::vector<Address> addresses, std::map<std::string, int> deadlines_ms, bool is_optional) {
    Config config = config_of("compose-page");
    config.upstreams["plot"] = std::move(addresses);
    config.deadlines_ms = std::move(deadlines_ms);
    if (is_optional) config.optional.insert("plot");
    return config;
  }

  /** The answer, or the text of the error. */
  std::string read(int64_t movie, std::optional<uint64_t> hash = std::nullopt) {
    std::string plot;
    try {
      call(
          service.records, to, [&](auto& client) { client.send_read(movie); }, [&](auto& client) { client.recv_read(plot); },
          hash);
    } catch (const movies::Refused& refused) {
      return "refused: " + refused.reason;
    } catch (const std::exception& error) {
      return error.what();
    }
    return plot;
  }

  Service service;
  Edge& edge;
  To<movies::PlotClient> to{edge};
};

std::string echo(int64_t movie) { return "plot " + std::to_string(movie); }

bool begins(const std::string& text, const std::string& beginning) { return text.rfind(beginning, 0) == 0; }

}  // namespace

TEST(Calls, GetAnswersOverOneConnectionThatStays) {
  PlotServer server(echo);
  Caller caller({server.service.config.listen});
  for (int at = 0; at < 10; at++) EXPECT_EQ(caller.read(at), echo(at));
  EXPECT_EQ(server.service.records.counters.connections, 1);
  EXPECT_EQ(caller.edge.calls, 10);
  EXPECT_EQ(caller.edge.errors, 0);
  EXPECT_GT(caller.edge.ns, 0);
}

TEST(Calls, AreUnderWayAtOnce) {
  // Each waits for the other, so one after the other would never end.
  std::atomic<int> inside{0};
  PlotServer server([&](int64_t movie) {
    inside++;
    await([&] { return inside >= 2; });
    return echo(movie);
  });
  Caller caller({server.service.config.listen});
  Calls calls(caller.service.records);
  std::string plots[2];
  for (int at = 0; at < 2; at++) {
    calls.start(
        caller.to, [at](auto& client) { client.send_read(at); }, [&plots, at](auto& client) { client.recv_read(plots[at]); });
  }
  calls.finish_all();
  EXPECT_EQ(plots[0], echo(0));
  EXPECT_EQ(plots[1], echo(1));
}

TEST(Calls, PassOnWhatTheCalleeSaid) {
  PlotServer server([](int64_t movie) -> std::string {
    if (movie == 1) refuse(movies::Code::NOT_FOUND, "no plot");
    if (movie == 2) throw Unavailable("movies-db: gone");
    if (movie == 4) throw Overloaded("other: 64 requests wait already");
    throw DeadlineSpent("late");
  });
  Caller caller({server.service.config.listen});
  EXPECT_EQ(caller.read(1), "refused: no plot");
  EXPECT_EQ(caller.edge.errors, 0);
  EXPECT_EQ(caller.read(2), "unavailable: plot: unavailable: movies-db: gone");
  EXPECT_EQ(caller.read(3), "deadline: plot: deadline: late");
  EXPECT_EQ(caller.read(4), "overloaded: plot: other: 64 requests wait already");
  EXPECT_EQ(caller.edge.errors, 3);
  EXPECT_EQ(server.service.records.counters.connections, 1);
}

TEST(Calls, GiveUpAtTheirTimeAndDoNotTakeALateAnswer) {
  std::promise<void> go;
  std::shared_future<void> gone(go.get_future());
  PlotServer server([&](int64_t movie) {
    if (movie == 1) gone.wait();
    return echo(movie);
  });
  Caller caller({server.service.config.listen}, {{"plot", 300}});
  EXPECT_TRUE(begins(caller.read(1), "deadline: plot did not answer in time"));
  go.set_value();
  std::string second;
  // On a busy machine this one may be late, too.
  await([&] { return !begins(second = caller.read(2), "deadline: "); });
  EXPECT_EQ(second, "plot 2");
  EXPECT_EQ(caller.service.records.counters.retries, 0);
}

TEST(Calls, SendWhatIsLeft) {
  PlotServer server([](int64_t) { return std::to_string((Context::current().deadline_ns - now_ns()) / kNsPerMs); });
  Caller caller({server.service.config.listen});
  Context context{now_ns() + 5'000 * kNsPerMs, std::nullopt};
  Context::set_current(&context);
  int64_t left = std::stoll(caller.read(1));
  Context::set_current(nullptr);
  EXPECT_LE(left, 5'000);
  EXPECT_GT(left, 0);
}

TEST(Calls, TryAnotherInstanceOnceWhenOneIsGone) {
  PlotServer server(echo);
  Address nothing{"127.0.0.1", free_port()};
  Caller caller({nothing, server.service.config.listen});
  for (int at = 0; at < 8; at++) EXPECT_EQ(caller.read(at), echo(at));
  EXPECT_EQ(caller.service.records.counters.retries, 4);
  EXPECT_EQ(caller.edge.errors, 0);
}

TEST(Calls, AreNotRetriedBeyondTheBudget) {
  Caller caller({{"127.0.0.1", free_port()}});
  for (int at = 0; at < 100; at++) EXPECT_TRUE(begins(caller.read(at), "unavailable: plot: "));
  EXPECT_EQ(caller.edge.errors, 100);
  // 10 to begin with, and one for ten calls.
  EXPECT_LE(caller.service.records.counters.retries, 20);
  EXPECT_GE(caller.service.records.counters.retries, 10);
}

TEST(Calls, GoOnWhenTheCalleeWasStartedAgain) {
  Config config = config_of("plot");
  Caller caller({config.listen});
  for (int round = 0; round < 3; round++) {
    PlotServer server(echo, config);
    EXPECT_EQ(caller.read(round), echo(round));
  }
}

TEST(Calls, OfOneHashReachOneInstance) {
  PlotServer first([](int64_t) { return "0"; }), second([](int64_t) { return "1"; });
  Caller caller({first.service.config.listen, second.service.config.listen});
  for (int64_t request = 0; request < 20; request++) {
    std::string expected = std::to_string(shard_of(std::to_string(request), 2));
    EXPECT_EQ(caller.read(1, hash_of(request)), expected);
    EXPECT_EQ(caller.read(1, hash_of(request)), expected);
  }
}

TEST(Calls, OfManyThreadsShareEightConnections) {
  Config config = config_of("plot");
  config.queue = 100;
  PlotServer server(echo, config);
  Caller caller({server.service.config.listen});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 16; thread++) {
    threads.emplace_back([&] {
      for (int at = 0; at < 100; at++) EXPECT_EQ(caller.read(at), echo(at));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(server.service.records.counters.connections, Pool::kLimit);
}

TEST(Calls, ThatFindNoFreeConnectionDoNotCountAsAnswers) {
  std::promise<void> go;
  std::shared_future<void> gone(go.get_future());
  std::atomic<int> inside{0};
  Config config = config_of("plot");
  config.threads = config.queue = Pool::kLimit;
  PlotServer server(
      [&](int64_t movie) {
        inside++;
        gone.wait();
        return echo(movie);
      },
      config);
  Caller caller({server.service.config.listen}, {}, true);
  std::vector<std::thread> threads;
  for (int at = 0; at < Pool::kLimit; at++) threads.emplace_back([&caller, at] { caller.read(at); });
  await([&] { return inside == Pool::kLimit; });
  Breaker& breaker = *caller.edge.upstream.breaker;
  for (int n = 1; n < Breaker::kTimeOuts; n++) breaker.ended(true, Breaker::Admitted::kCall, now_ns());
  EXPECT_TRUE(begins(caller.read(9), "unavailable: plot: unavailable: 127.0.0.1"));
  breaker.ended(true, Breaker::Admitted::kCall, now_ns());
  EXPECT_EQ(breaker.admits(now_ns()), Breaker::Admitted::kNo);
  go.set_value();
  for (auto& thread : threads) thread.join();
}

}  // namespace chassis
