#include "calls.h"

#include <poll.h>

#include <algorithm>
#include <vector>

namespace chassis {

Calls::Calls(Records& records, int64_t until_ns)
    : records_(records), context_(Context::current()), until_ns_(std::min(context_.deadline_ns, until_ns)) {}

const Call& Calls::start(Call::Request request) {
  Call& call = calls_.emplace_back(records_, context_, until_ns_, std::move(request));
  call.start();
  return call;
}

void Calls::finish() {
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

void Calls::finish_all() {
  finish();
  for (const Call& call : calls_) {
    if (call.error()) std::rethrow_exception(call.error());
  }
}

}  // namespace chassis
