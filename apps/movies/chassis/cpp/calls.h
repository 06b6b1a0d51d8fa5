#pragma once

#include <poll.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

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
  explicit Calls(Records& records, int64_t until_ns = INT64_MAX)
      : records_(records), context_(Context::current()), until_ns_(std::min(context_.deadline_ns, until_ns)) {}

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

  void finish() {
    std::vector<pollfd> waiting;
    std::vector<Call*> whose;
    for (;;) {
      waiting.clear();
      whose.clear();
      int64_t first = INT64_MAX;
      for (Call& call : calls_) {
        if (call.has_ended()) continue;
        waiting.push_back({call.descriptor(), POLLIN, 0});
        whose.push_back(&call);
        first = std::min(first, call.until_ns());
      }
      if (waiting.empty()) return;
      timespec left = left_until(first);
      ppoll(waiting.data(), waiting.size(), &left, nullptr);
      for (size_t at = 0; at < waiting.size(); at++) {
        if (waiting[at].revents) {
          whose[at]->on_readable();
        } else if (now_ns() >= whose[at]->until_ns()) {
          whose[at]->give_up();
        }
      }
    }
  }

  /** The same, and throws the error of the first that has one. */
  void finish_all() {
    finish();
    for (const Call& call : calls_) {
      if (call.error()) std::rethrow_exception(call.error());
    }
  }

 private:
  const Call& start(Call::Request request) {
    Call& call = calls_.emplace_back(records_, context_, until_ns_, std::move(request));
    call.start();
    return call;
  }

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
