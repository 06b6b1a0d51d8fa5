#include "call.h"

#include <thrift/TApplicationException.h>

#include <algorithm>

#include "codec.h"
#include "failure.h"
#include "frame.h"
#include "log.h"

namespace chassis {

Call::Call(Records& records, const Context& context, int64_t until_ns, Request request)
    : records_(records), context_(context), request_(std::move(request)), until_ns_(request_.edge.upstream.limited(until_ns)) {}

void Call::start() {
  stamps_[0] = now_ns();
  if (context_.is_sampled()) span_ = new_span_id();
  Upstream& upstream = request_.edge.upstream;
  if (upstream.breaker) admitted_ = upstream.breaker->admits(stamps_[0]);
  if (admitted_ == Breaker::Admitted::kNo) {
    return end(Outcome::kFailed, std::make_exception_ptr(
                                     Unavailable(upstream.name + ": it timed out repeatedly, and is not asked for a while")));
  }
  request_.edge.budget.earn();
  turn_ = upstream.take_turn();
  guarded([this] { attempt(); });
}

void Call::on_readable() {
  if (!readable_) stamps_[4] = now_ns();
  readable_ = true;
  guarded([this] {
    Inbox& inbox = connection_->inbox;
    Inbox::Got got = inbox.read(connection_->socket.descriptor());
    std::string_view body;
    switch (inbox.peek_frame(body)) {
      case Inbox::Next::kFrame:
        return decode(body);
      case Inbox::Next::kBad:
        records_.counters.bad_frames++;
        throw Unavailable("a frame of no bytes or too many");
      case Inbox::Next::kIncomplete:
        if (got == Inbox::Got::kClosed) throw ConnectionLost("the connection ended before the answer");
    }
  });
}

void Call::give_up() {
  const Edge& edge = request_.edge;
  end(Outcome::kDeadline, std::make_exception_ptr(DeadlineSpent(edge.upstream.name + " did not answer in time")));
}

void Call::attempt() {
  int64_t left = until_ns_ - now_ns();
  if (left <= 0) throw DeadlineSpent("nothing is left to call " + request_.edge.upstream.name);
  connection_ = request_.edge.upstream.pick(request_.hash, turn_).take(until_ns_);
  stamps_[1] = now_ns();

  auto buffer = std::make_shared<Buffer>();
  request_.send(protocol_on(buffer));
  std::string_view message = written(*buffer);
  // At least 1: less than a millisecond is more than nothing.
  std::string left_ms = std::to_string(std::max<int64_t>(1, (until_ns_ - stamps_[1]) / kNsPerMs));
  uint32_t sequence = ++connection_->sequence;
  std::string head;
  if (context_.trace) {
    Trace trace = *context_.trace;
    if (trace.is_sampled) trace.span = span_;
    head = header_before(sequence, {{"traceparent", trace.text()}, {"d", left_ms}}, message.size());
  } else {
    head = header_before(sequence, {{"d", left_ms}}, message.size());
  }
  stamps_[2] = now_ns();
  connection_->socket.send(head, message, until_ns_);
  stamps_[3] = now_ns();
  bytes_out_ = static_cast<uint32_t>(head.size() + message.size());
}

void Call::decode(std::string_view body) {
  auto frame = Frame::parse(body);
  if (!frame || !frame->has_header || frame->sequence != connection_->sequence) {
    records_.counters.bad_frames++;
    throw Unavailable("an answer that is none to this request");
  }
  bytes_in_ = static_cast<uint32_t>(4 + body.size());
  times_ = Times::parse(frame->times);
  Outcome outcome = Outcome::kOk;
  std::exception_ptr error;
  std::string exception;
  try {
    request_.receive(protocol_reading(frame->message));
  } catch (const movies::Refused&) {
    outcome = Outcome::kRefused;
    error = std::current_exception();
  } catch (const apache::thrift::TApplicationException& said) {
    exception = said.what();
  }
  connection_->inbox.consume(4 + body.size());
  // A connection with bytes after the answer is not reused.
  if (connection_->inbox.bytes().empty()) connection_.keep();
  if (!exception.empty()) return answered_by_exception(exception);
  end(outcome, error);
}

void Call::answered_by_exception(const std::string& what) {
  const std::string& name = request_.edge.upstream.name;
  if (what.rfind("deadline: ", 0) == 0) {
    return end(Outcome::kDeadline, std::make_exception_ptr(DeadlineSpent(name + ": " + what)));
  }
  // The prefix tells the caller that a later try may succeed.
  static constexpr std::string_view kOverloaded = "overloaded: ";
  if (what.rfind(kOverloaded, 0) == 0) {
    return end(Outcome::kFailed, std::make_exception_ptr(Overloaded(name + ": " + what.substr(kOverloaded.size()))));
  }
  end(Outcome::kFailed, std::make_exception_ptr(Unavailable(name + ": " + what)));
}

template <class Work>
void Call::guarded(Work work) {
  try {
    work();
  } catch (const ConnectionLost& lost) {
    lost_ = true;
    connection_.lose();
    retry_or_fail(lost.what());
  } catch (const DeadlineSpent&) {
    end(Outcome::kDeadline, std::current_exception());
  } catch (const std::exception& other) {
    // The answer cannot be decoded, or no connection is free.
    end(Outcome::kFailed, std::make_exception_ptr(Unavailable(request_.edge.upstream.name + ": " + other.what())));
  }
}

void Call::retry_or_fail(const std::string& what) {
  Edge& edge = request_.edge;
  if (!retried_ && edge.idempotent && now_ns() < until_ns_ && edge.budget.spend()) {
    retried_ = true;
    turn_++;
    readable_ = false;
    records_.counters.retries++;
    return guarded([this] { attempt(); });
  }
  end(Outcome::kFailed, std::make_exception_ptr(Unavailable(edge.upstream.name + ": " + what)));
}

void Call::end(Outcome outcome, std::exception_ptr error) {
  ended_ = true;
  error_ = std::move(error);
  // Close unless kept: a late answer must not be taken for the next request's.
  connection_ = Pool::Lease();
  stamps_[5] = now_ns();
  Edge& edge = request_.edge;
  // What happens before the question is sent, such as a wait for a free connection, is not the callee's, but that it refuses one is.
  if (auto& breaker = edge.upstream.breaker; breaker && admitted_ != Breaker::Admitted::kNo) {
    const bool is_spent = outcome == Outcome::kDeadline;
    if (stamps_[3] > 0 || (lost_ && !is_spent)) breaker->ended(is_spent, admitted_, stamps_[5]);
  }
  edge.calls++;
  edge.ns += stamps_[5] - stamps_[0];
  edge.wall.add(stamps_[5] - stamps_[0]);
  if (times_) {
    edge.queue.add(times_->queue);
    edge.application.add(times_->application);
    edge.cpu.add(times_->cpu);
  }
  if (outcome == Outcome::kFailed || outcome == Outcome::kDeadline) {
    edge.errors++;
    try {
      std::rethrow_exception(error_);
    } catch (const std::exception& why) {
      log_error("a call failed", {{"callee", edge.upstream.name}, {"method", edge.method}, {"error", why.what()}});
    }
  }
  if (!context_.is_sampled()) return;
  Span span;
  span.kind = Kind::kClient;
  span.peer = edge.upstream.id;
  span.method = edge.place;
  span.outcome = outcome;
  span.flags = retried_ ? kRetried : 0;
  span.trace = context_.trace->id;
  span.span = span_;
  span.parent = context_.trace->span;
  span.stamps = stamps_;
  span.bytes_in = bytes_in_;
  span.bytes_out = bytes_out_;
  records_.spans.add(span);
}

}  // namespace chassis
