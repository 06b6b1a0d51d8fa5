#include "socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "clock.h"
#include "failure.h"

namespace chassis {
namespace {

/** Connections that the kernel keeps until they are accepted. Source: net.core.somaxconn's default since Linux 5.4. */
constexpr int kBacklog = 4096;

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Found look_up(const Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  std::string host = address.host;
  // An address of IPv6 is written in brackets.
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo* found = nullptr;
  int error = getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error) throw ConnectionLost(address.text() + ": " + gai_strerror(error));
  return Found(found, freeaddrinfo);
}

[[noreturn]] void lost(const Address& address, int error) { throw ConnectionLost(address.text() + ": " + strerror(error)); }

}  // namespace

timespec left_until(int64_t until_ns) {
  int64_t left = std::max<int64_t>(0, until_ns - now_ns());
  return {left / 1'000'000'000, left % 1'000'000'000};
}

bool wait_for(int descriptor, short events, int64_t until_ns) {
  pollfd one{descriptor, events, 0};
  for (;;) {
    timespec left = left_until(until_ns);
    int n = ppoll(&one, 1, &left, nullptr);
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

Socket::Socket(int descriptor) : descriptor_(descriptor) {
  int on = 1;
  setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Socket Socket::connect(const Address& address, int64_t until_ns) {
  Found found = look_up(address, 0);
  int made = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) lost(address, errno);
  Socket socket(made);
  if (::connect(made, found->ai_addr, found->ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) lost(address, errno);
  if (!wait_for(made, POLLOUT, until_ns)) throw DeadlineSpent(address.text() + " was not connected in time");
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error) lost(address, error);
  return socket;
}

Socket Socket::listen(const Address& address) {
  Found found = look_up(address, AI_PASSIVE);
  int made = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) lost(address, errno);
  Socket socket(made);
  int on = 1;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(made, found->ai_addr, found->ai_addrlen) != 0 || ::listen(made, kBacklog) != 0) lost(address, errno);
  return socket;
}

void Socket::send(std::string_view head, std::string_view rest, int64_t until_ns) {
  while (!head.empty() || !rest.empty()) {
    iovec parts[2] = {{const_cast<char*>(head.data()), head.size()}, {const_cast<char*>(rest.data()), rest.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    ssize_t n = sendmsg(descriptor_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      size_t of_head = std::min(head.size(), static_cast<size_t>(n));
      head.remove_prefix(of_head);
      rest.remove_prefix(static_cast<size_t>(n) - of_head);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(descriptor_, POLLOUT, until_ns)) throw DeadlineSpent("the other side did not read in time");
    } else if (errno != EINTR) {
      throw ConnectionLost(strerror(errno));
    }
  }
}

bool Socket::is_readable() const {
  char byte;
  ssize_t n = recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace chassis
