#include "server.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <thrift/TApplicationException.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "codec.h"
#include "context.h"
#include "failure.h"
#include "log.h"
#include "moments.h"
#include "registry.h"

namespace chassis {

using apache::thrift::TApplicationException;

namespace {

/** More than 30 callers with 8 connections each have, and less than the 1024 descriptors of a process. */
constexpr size_t kMostPeers = 512;
/** Source: the contract of the application. */
constexpr auto kLongestEnd = std::chrono::seconds(2);
/** A caller that reads no answer for this long has given up. */
constexpr int64_t kLongestWriteNs = kDefaultDeadlineNs;
constexpr int kEvents = 64;
/** The header of an answer has less: three numbers and a name. Units: bytes. */
constexpr uint32_t kHeadLimit = 1024;
constexpr uint32_t kKeptAnswer = 1 << 20;
/** How often is looked whether requests under way have ended. */
constexpr auto kLook = std::chrono::milliseconds(2);

/** This thread's buffer for its answers, empty. Kept, as a buffer grows by copies; but not one that a large answer made. */
std::shared_ptr<Buffer> answer_buffer() {
  thread_local std::shared_ptr<Buffer> buffer;
  if (!buffer || written(*buffer).size() > kKeptAnswer) buffer = std::make_shared<Buffer>();
  buffer->resetBuffer();
  return buffer;
}

void write_exception(Buffer& buffer, Protocol& protocol, const MessageHead& head, const TApplicationException& exception) {
  buffer.resetBuffer();
  protocol.writeMessageBegin(std::string(head.name), apache::thrift::protocol::T_EXCEPTION, head.sequence);
  exception.write(&protocol);
  protocol.writeMessageEnd();
}

}  // namespace

/** One request and its answer. */
struct Server::Exchange {
  explicit Exchange(const Request& request) : request(request) {
    moments.stamps.fill(request.arrived_ns);
    if (request.frame.has_header) {
      context.trace = Trace::parse(request.frame.traceparent);
      if (auto left = parse_decimal(request.frame.deadline)) budget_ns = *left * kNsPerMs;
    }
    context.deadline_ns = request.arrived_ns + budget_ns;
    if (!context.is_sampled()) return;
    caller_span = context.trace->span;
    context.trace->span = new_span_id();
  }

  void refuse(Outcome why, const std::string& what) {
    outcome = why;
    write_exception(*out, *protocol, request.head, TApplicationException(TApplicationException::INTERNAL_ERROR, what));
  }

  const Request& request;
  int64_t budget_ns = kDefaultDeadlineNs;
  Context context;
  uint64_t caller_span = 0;
  Moments moments;
  int64_t cpu_from_ns = cpu_ns();
  Outcome outcome = Outcome::kOk;
  std::shared_ptr<Buffer> out = answer_buffer();
  std::shared_ptr<Protocol> protocol = protocol_on(out);
};

Server::Server(Service& service, std::shared_ptr<Processor> processor)
    : service_(service), processor_(std::move(processor)), listener_(Socket::listen(service.config.listen)) {
  processor_->setEventHandler(std::make_shared<MomentsHandler>());
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  signals_ = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
  watch(listener_.descriptor(), &listener_, EPOLLIN);
  watch(signals_, nullptr, EPOLLIN);
  watch(service_.drained(), nullptr, EPOLLIN);
  for (int at = 0; at < service_.config.threads; at++) workers_.emplace_back([this] { work(); });
}

Server::~Server() {
  {
    std::lock_guard lock(queue_mutex_);
    is_closed_ = true;
  }
  waiting_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  ::close(signals_);
  ::close(epoll_);
}

void Server::watch(int descriptor, void* what, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = what;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw std::runtime_error(std::string("epoll_ctl: ") + strerror(errno));
  }
}

void Server::run() {
  for (epoll_event events[kEvents];;) {
    int n = epoll_wait(epoll_, events, kEvents, -1);
    for (int at = 0; at < n; at++) {
      void* what = events[at].data.ptr;
      if (!what) return end();
      if (what == &listener_) {
        accept_all();
        continue;
      }
      Peer& peer = *static_cast<Peer*>(what);
      // Never true; the load orders the last worker's writes before the reads here (the kernel does so too, but compilers do not know).
      if (peer.is_at_work) continue;
      if (peer.inbox.read(peer.socket.descriptor()) == Inbox::Got::kClosed) {
        close(peer);
      } else {
        advance(peer);
      }
    }
  }
}

void Server::accept_all() {
  for (;;) {
    int made = accept4(listener_.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (made < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) log_error("a connection cannot be accepted", {{"error", strerror(errno)}});
      return;
    }
    auto peer = std::make_unique<Peer>(made);
    Peer* at = peer.get();
    std::lock_guard lock(peers_mutex_);
    if (peers_.size() >= kMostPeers) {
      log_error("a connection was refused: there are too many", {{"limit", kMostPeers}});
      continue;
    }
    service_.records.counters.connections++;
    peers_[at] = std::move(peer);
    watch(made, at, EPOLLIN | EPOLLONESHOT);
  }
}

/** Gives the next request of a connection to a worker, or lets the connection be read. */
void Server::advance(Peer& peer) {
  for (;;) {
    Request request;
    switch (next(peer, request)) {
      case Inbox::Next::kBad:
        service_.records.counters.bad_frames++;
        return close(peer);
      case Inbox::Next::kIncomplete:
        // While draining, requests in the kernel's buffer are still answered, and a partial frame may be completed.
        if (is_draining_ && peer.inbox.read(peer.socket.descriptor()) == Inbox::Got::kBytes) continue;
        return is_draining_ && peer.inbox.bytes().empty() ? close(peer) : arm(peer);
      case Inbox::Next::kFrame:
        break;
    }
    // The chassis' own methods take no time, and are answered however busy the workers are; but a caller that does not read the
    // answer must not keep this thread.
    bool is_own = request.method < 0;
    if (!is_own && push(request)) return;
    if (!(is_own ? serve(request, 0) : refuse_overloaded(request))) return;
  }
}

Inbox::Next Server::next(Peer& peer, Request& request) {
  std::string_view body;
  Inbox::Next found = peer.inbox.peek_frame(body);
  if (found != Inbox::Next::kFrame) return found;
  auto frame = Frame::parse(body);
  auto head = frame ? MessageHead::parse_call(frame->message) : std::nullopt;
  if (!head) return Inbox::Next::kBad;
  request = {&peer, *frame, *head, find_method(service_.config.service, head->name), 4 + body.size(), now_ns()};
  return found;
}

void Server::arm(Peer& peer) {
  // The reader may close the connection at once, but not before this has ended.
  std::lock_guard lock(peers_mutex_);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.ptr = &peer;
  peer.is_at_work = false;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, peer.socket.descriptor(), &event);
}

void Server::close(Peer& peer) {
  std::lock_guard lock(peers_mutex_);
  peers_.erase(&peer);
}

bool Server::push(const Request& request) {
  {
    std::lock_guard lock(queue_mutex_);
    if (queue_.size() >= static_cast<size_t>(service_.config.queue)) return false;
    request.peer->is_at_work = true;
    queue_.push_back(request);
  }
  waiting_.notify_one();
  return true;
}

void Server::work() {
  std::unique_lock lock(queue_mutex_);
  for (;;) {
    waiting_.wait(lock, [this] { return is_closed_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Request request = queue_.front();
    queue_.pop_front();
    at_work_++;
    lock.unlock();
    if (serve(request, kLongestWriteNs)) advance(*request.peer);
    lock.lock();
    at_work_--;
  }
}

/** Whether the connection can be used further; otherwise it is closed. */
bool Server::serve(const Request& request, int64_t longest_write_ns) {
  Exchange exchange(request);
  exchange.moments.stamps[1] = now_ns();
  if (request.method >= 0 && exchange.moments.stamps[1] >= exchange.context.deadline_ns) {
    exchange.refuse(Outcome::kDeadline,
                    "deadline: " + std::to_string(exchange.budget_ns / kNsPerMs) + " ms were spent before the request was begun");
    return answer(exchange, longest_write_ns);
  }
  Context::set_current(&exchange.context);
  try {
    process(exchange);
  } catch (const std::exception&) {
    // The arguments cannot be decoded.
    Context::set_current(nullptr);
    service_.records.counters.bad_frames++;
    close(*request.peer);
    return false;
  }
  Context::set_current(nullptr);
  return answer(exchange, longest_write_ns);
}

void Server::process(Exchange& exchange) {
  processor_->process(protocol_reading(exchange.request.frame.message), exchange.protocol, &exchange.moments);
  if (!exchange.moments.error) {
    if (is_refusal(written(*exchange.out))) exchange.outcome = Outcome::kRefused;
    if (written(*exchange.out).size() <= kFrameLimit - kHeadLimit) return;
    const std::string limit = std::to_string(kFrameLimit);
    exchange.refuse(Outcome::kFailed, "unavailable: the answer is larger than a frame of " + limit + " bytes");
    return;
  }
  // The generated processor reports every exception as one of unknown kind, so replace its answer.
  try {
    std::rethrow_exception(exchange.moments.error);
  } catch (const DeadlineSpent& spent) {
    exchange.refuse(Outcome::kDeadline, spent.what());
  } catch (const Unavailable& unavailable) {
    exchange.refuse(Outcome::kFailed, unavailable.what());
  } catch (const Overloaded& overloaded) {
    exchange.refuse(Outcome::kFailed, overloaded.what());
  } catch (const std::exception& other) {
    log_error("a handler failed", {{"method", std::string(exchange.request.head.name)}, {"error", other.what()}});
    exchange.refuse(Outcome::kFailed, std::string("internal: ") + other.what());
  }
}

bool Server::refuse_overloaded(const Request& request) {
  service_.records.counters.overloaded++;
  Exchange exchange(request);
  exchange.refuse(Outcome::kFailed, "overloaded: " + std::to_string(service_.config.queue) + " requests wait already");
  return answer(exchange, 0);
}

bool Server::answer(Exchange& exchange, int64_t longest_write_ns) {
  Counters& counters = service_.records.counters;
  const Request& request = exchange.request;
  auto& stamps = exchange.moments.stamps;
  stamps[4] = now_ns();
  fill_stamps(stamps);
  const int64_t queue = stamps[1] - stamps[0], application = stamps[3] - stamps[2], cpu = cpu_ns() - exchange.cpu_from_ns;
  if (request.method >= 0) {
    counters.requests++;
    counters.queue_ns += queue;
    counters.application_ns += application;
    counters.cpu_ns += cpu;
    if (exchange.outcome == Outcome::kRefused) counters.refused++;
    if (exchange.outcome == Outcome::kFailed) counters.errors++;
    if (exchange.outcome == Outcome::kDeadline) counters.deadline++;
  }

  std::string_view message = written(*exchange.out);
  std::string head;
  if (request.frame.has_header) {
    std::string times = std::to_string(queue) + "," + std::to_string(application) + "," + std::to_string(cpu);
    head = header_before(request.frame.sequence, {{"s", times}}, message.size());
  } else {
    head = length_before(message.size());
  }
  bool sent = true;
  try {
    request.peer->socket.send(head, message, stamps[4] + longest_write_ns);
  } catch (const std::exception&) {
    sent = false;
  }
  stamps[5] = now_ns();

  if (request.method >= 0 && exchange.context.is_sampled()) {
    Span span;
    span.method = static_cast<uint16_t>(request.method);
    span.outcome = exchange.outcome;
    span.trace = exchange.context.trace->id;
    span.span = exchange.context.trace->span;
    span.parent = exchange.caller_span;
    span.stamps = stamps;
    span.cpu_ns = cpu_ns() - exchange.cpu_from_ns;
    span.bytes_in = static_cast<uint32_t>(request.size);
    span.bytes_out = static_cast<uint32_t>(head.size() + message.size());
    service_.records.spans.add(span);
  }
  if (sent) {
    request.peer->inbox.consume(request.size);
  } else {
    close(*request.peer);
  }
  return sent;
}

bool Server::end_idle() {
  std::vector<Peer*> idle;
  bool is_last = false;
  {
    std::lock_guard lock(peers_mutex_);
    is_last = peers_.empty();
    for (auto& [at, peer] : peers_) {
      if (!peer->is_at_work) idle.push_back(at);
    }
  }
  // Workers do not take these, so they stay until this thread closes them or passes them on.
  for (Peer* peer : idle) {
    if (peer->inbox.read(peer->socket.descriptor()) == Inbox::Got::kClosed) {
      close(*peer);
    } else {
      advance(*peer);
    }
  }
  return is_last;
}

void Server::end() {
  is_draining_ = true;
  // Connections in the kernel's backlog may have sent a request.
  accept_all();
  listener_ = Socket();
  const auto until = std::chrono::steady_clock::now() + kLongestEnd;
  while (!end_idle() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kLook);
  {
    std::lock_guard lock(queue_mutex_);
    if (at_work_ == 0 && queue_.empty()) return;
    log_error("requests were left at the end", {{"at_work", at_work_}, {"waiting", queue_.size()}});
  }
  service_.records.spans.flush();
  // Their threads cannot be joined in time.
  _exit(0);
}

}  // namespace chassis
