#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "frame.h"
#include "inbox.h"
#include "service.h"
#include "socket.h"

namespace chassis {

/**
 * Serves the methods of one service: a thread reads frames of all connections, and workers answer them.
 *
 * A thread for each connection would be too many: every caller keeps up to 8 connections, so a service has more of them
 * than threads. An idle connection therefore costs no thread. Requests wait, not connections: their number is limited, and
 * their wait is the queue time of a span.
 *
 * A connection belongs to the reader while it is armed in the epoll set (EPOLLONESHOT), and to the worker between a whole
 * request and its answer; so its bytes need no lock, and its requests are answered in order.
 */
class Server {
 public:
  /** Listens. Errors: `std::runtime_error` if the address is in use. */
  Server(Service& service, std::shared_ptr<Processor> processor);
  ~Server();

  /** Returns after SIGTERM, SIGINT (which the caller has blocked) or `Service::drain`, when requests under way have ended. */
  void run();

 private:
  struct Peer {
    explicit Peer(int descriptor) : socket(descriptor) {}
    Socket socket;
    Inbox inbox;
    std::atomic<bool> is_at_work{false};
  };

  /** Its texts point into the inbox of the peer. */
  struct Request {
    Peer* peer = nullptr;
    Frame frame;
    MessageHead head;
    /** -1: of the chassis, or none. */
    int method = -1;
    size_t size = 0;
    int64_t arrived_ns = 0;
  };

  struct Exchange;

  void accept_all();
  void watch(int descriptor, void* what, uint32_t events);
  void advance(Peer& peer);
  Inbox::Next next(Peer& peer, Request& request);
  void arm(Peer& peer);
  void close(Peer& peer);

  bool push(const Request& request);
  void work();
  bool serve(const Request& request, int64_t longest_write_ns);
  bool refuse_overloaded(const Request& request);
  void process(Exchange& exchange);
  bool answer(Exchange& exchange, int64_t longest_write_ns);
  /** Answers the requests received so far. Ends the process if they take too long. */
  void end();
  /** Serves or closes the connections that no worker has; true if all connections are closed. */
  bool end_idle();

  Service& service_;
  const std::shared_ptr<Processor> processor_;
  Socket listener_;
  int epoll_ = -1, signals_ = -1;
  std::atomic<bool> is_draining_{false};

  std::mutex peers_mutex_;
  std::unordered_map<Peer*, std::unique_ptr<Peer>> peers_;

  std::mutex queue_mutex_;
  std::condition_variable waiting_;
  std::deque<Request> queue_;
  int at_work_ = 0;
  bool is_closed_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace chassis
