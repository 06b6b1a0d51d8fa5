#pragma once

#include <thrift/protocol/TProtocol.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "context.h"
#include "edge.h"
#include "frame.h"
#include "records.h"

namespace chassis {

/** One call of another service, from its start to its result, which never blocks for an answer. */
class Call {
 public:
  using Codec = std::function<void(std::shared_ptr<apache::thrift::protocol::TProtocol>)>;

  struct Request {
    Edge& edge;
    /** Writes the message. */
    Codec send;
    /** Reads the answer into its destination, or throws the callee's exception. */
    Codec receive;
    /** Chooses the instance. */
    std::optional<uint64_t> hash;
  };

  Call(Records& records, const Context& context, int64_t until_ns, Request request);

  void start();
  void on_readable();
  void give_up();

  bool has_ended() const { return ended_; }
  /** Null on success, else `Refused`, `Unavailable`, `Overloaded` or `DeadlineSpent`. */
  const std::exception_ptr& error() const { return error_; }
  int descriptor() const { return connection_->socket.descriptor(); }
  int64_t until_ns() const { return until_ns_; }

 private:
  void attempt();
  void decode(std::string_view body);
  void answered_by_exception(const std::string& what);
  void retry_or_fail(const std::string& what);
  void end(Outcome outcome, std::exception_ptr error);
  template <class Work>
  void guarded(Work work);

  Records& records_;
  const Context context_;
  const Request request_;
  const int64_t until_ns_;
  uint32_t turn_ = 0;
  Pool::Lease connection_;
  uint64_t span_ = 0;
  std::array<int64_t, 6> stamps_{};
  uint32_t bytes_in_ = 0, bytes_out_ = 0;
  std::optional<Times> times_;
  bool readable_ = false, lost_ = false, retried_ = false, ended_ = false;
  std::exception_ptr error_;
  Breaker::Admitted admitted_ = Breaker::Admitted::kCall;
};

}  // namespace chassis
