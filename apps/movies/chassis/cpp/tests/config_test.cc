#include "config.h"

#include <gtest/gtest.h>

#include <sstream>

namespace chassis {
namespace {

const char* kUsual =
    "# of a test\n"
    "service=plot\nid = 6\ninstance=1\r\nlisten=127.0.0.1:34567\nthreads=8\nqueue=64\nspans=\nsecret=\ndata=\n";

Config parse(const std::string& more) {
  std::istringstream lines(kUsual + more);
  return Config::parse(lines, "x.conf");
}

std::string error_of(const std::string& text) {
  std::istringstream lines(text);
  try {
    Config::parse(lines, "x.conf");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST(Config, ReadsAllKeys) {
  Config config = parse(
      "upstream.compose-review=127.0.0.1:1, [::1]:2\ncache.movies=h:11211\nstore.movies=postgresql://m@/m?host=/x&port=5,b\n"
      "call.ads.deadline_ms=20\noptional=ads,movie-recommender\n");
  EXPECT_EQ(config.service, "plot");
  EXPECT_EQ(config.id, 6);
  EXPECT_EQ(config.instance, 1);
  EXPECT_EQ(config.listen.text(), "127.0.0.1:34567");
  EXPECT_EQ(config.upstreams.at("compose-review").at(1).text(), "[::1]:2");
  EXPECT_EQ(config.caches.at("movies").size(), 1u);
  EXPECT_EQ(config.stores.at("movies").at(0), "postgresql://m@/m?host=/x&port=5");
  EXPECT_EQ(config.deadlines_ms.at("ads"), 20);
  EXPECT_EQ(config.optional.count("movie-recommender"), 1u);
}

TEST(Config, TakesAnEmptyValueAsNone) {
  Config config = parse("upstream.plot=\ncache.movies=\nstore.movies=\ncall.ads.deadline_ms=\noptional=\n");
  EXPECT_TRUE(config.upstreams.empty() && config.caches.empty() && config.stores.empty());
  EXPECT_TRUE(config.deadlines_ms.empty() && config.optional.empty());
}

TEST(Config, NamesTheKeyThatIsWrong) {
  auto check = [](const std::string& text, const std::string& part) {
    EXPECT_NE(error_of(text).find(part), std::string::npos) << error_of(text);
  };
  std::string usual = kUsual;
  check(usual + "threat=8\n", "x.conf:11: `threat` is not a key");
  check(usual + "id=7\n", "`id` is there twice");
  check(usual + "alone\n", "`alone` is not key=value");
  check(usual + "upstream.plot=,\n", "`upstream.plot` is `,`");
  check(usual + "upstream.plot=localhost\n", "HOST:PORT");
  check(usual + "upstream.plot=localhost:0\n", "1 to 65535");
  check(usual + "upstream.=a:1\n", "`upstream.` is not a key");
  check(usual + "call.ads.deadline_ms=0\n", "`call.ads.deadline_ms` is `0`");
  check("service=plot\n", "`id` is missing");
  check("threads=-1\n", "`threads` is `-1`, and takes 1 to 1024");
  check("secret=abc\n", "`secret` takes 64 hex digits");
  EXPECT_EQ(error_of("secret=abc\n").find("abc"), std::string::npos);
}

TEST(Config, NamesAFileThatIsNotThere) { EXPECT_THROW(Config::read("/nowhere/x.conf"), std::invalid_argument); }

}  // namespace chassis
