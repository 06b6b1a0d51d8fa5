#include "cache.h"

#include <poll.h>
#include <sys/socket.h>

#include "fixture.h"

namespace chassis {
namespace {

/** A cache that answers one question by given bytes. */
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer)
      : listener_(Socket::listen(address)), thread_([this, answer = std::move(answer)] {
          if (!wait_for(listener_.descriptor(), POLLIN, now_ns() + kHang)) return;
          Socket socket(accept4(listener_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK));
          Inbox inbox;
          while (inbox.bytes().find("\r\n") == std::string_view::npos) {
            if (!wait_for(socket.descriptor(), POLLIN, now_ns() + kHang)) return;
            if (inbox.read(socket.descriptor()) == Inbox::Got::kClosed) return;
          }
          socket.send(answer, "", now_ns() + kHang);
          // Until the other side closes.
          while (inbox.read(socket.descriptor()) != Inbox::Got::kClosed) {
            if (!wait_for(socket.descriptor(), POLLIN, now_ns() + kHang)) return;
          }
        }) {}
  ~OneAnswer() { thread_.join(); }

  const Address address{"127.0.0.1", free_port()};

 private:
  Socket listener_;
  std::thread thread_;
};

/** What a cache is asked, and how many errors it counted. */
int64_t errors_of(const std::string& answer, const std::function<void(Cache&)>& ask) {
  Records records{Config()};
  OneAnswer server(answer);
  Cache cache(records, "movies", {server.address});
  ask(cache);
  return records.counters.cache_errors;
}

}  // namespace

TEST(Cache, TakesNoAnswerToAnotherQuestion) {
  for (const char* answer : {"VALUE other 0 1\r\nx\r\nEND\r\n", "ERROR\r\n", "VALUE plot:1 0 1\r\nx\r\nVALUE other 0 0\r\n\r\nEND\r\n"}) {
    EXPECT_EQ(errors_of(answer, [](Cache& cache) { EXPECT_FALSE(cache.get("plot:1")); }), 1) << answer;
  }
}

TEST(Cache, CountsASetThatWasRefused) {
  for (const char* answer : {"STORED\r\nSERVER_ERROR object too large for cache\r\n", "VALUE a 0 0\r\n"}) {
    EXPECT_EQ(errors_of(answer, [](Cache& cache) { cache.set_many({{"plot:1", "x"}, {"plot:2", "y"}}); }), 1) << answer;
  }
}

}  // namespace chassis
