#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "call.h"

namespace chassis {

/** An edge with the generated client of its callee. */
template <class Client>
struct To {
  To(Edge& edge) : edge(edge) {}
  Edge& edge;
};

/**
 * Calls of one request, at once and in one thread: `start` sends, `finish` receives answers as they come until all calls
 * have ended. The destinations of `receive` must outlive it.
 */
class Calls {
 public:
  /** Calls for the request that this thread works on; they end at `until_ns`, if that is before its deadline. */
  explicit Calls(Records& records, int64_t until_ns = INT64_MAX);

  /** `send` and `receive` take a `Client&` and call `send_x` and `recv_x`. */
  template <class Client, class Send, class Receive>
  const Call& start(const To<Client>& to, Send send, Receive receive, std::optional<uint64_t> hash = std::nullopt) {
    return start(Call::Request{to.edge,
                               [send](auto protocol) {
                                 Client client(protocol);
                                 send(client);
                               },
                               [receive](auto protocol) {
                                 Client client(protocol);
                                 receive(client);
                               },
                               hash});
  }

  void finish();

  /** The same, and throws the error of the first that has one. */
  void finish_all();

 private:
  const Call& start(Call::Request request);

  Records& records_;
  const Context context_;
  const int64_t until_ns_;
  std::deque<Call> calls_;
};

/** One call and its end. Errors: `Refused`, `Unavailable`, `Overloaded`, `DeadlineSpent`. */
template <class Client, class Send, class Receive>
void call(Records& records, const To<Client>& to, Send send, Receive receive, std::optional<uint64_t> hash = std::nullopt) {
  Calls calls(records);
  calls.start(to, send, receive, hash);
  calls.finish_all();
}

}  // namespace chassis
