#include "socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"

/** Connections that the kernel keeps until they are accepted. Source: net.core.somaxconn's default since Linux 5.4. */
#define BACKLOG 4096

bool wait_for(int descriptor, short events, int64_t until_ns) {
  struct pollfd one = {descriptor, events, 0};
  for (;;) {
    struct timespec left = left_until(until_ns);
    int n = ppoll(&one, 1, &left, NULL);
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

void socket_no_delay(int descriptor) {
  int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static bool lost(struct failure *failure, const struct address *address, int error) {
  return fail_lost(failure, "%s: %s", address->text, strerror(error));
}

/** A socket for an address, and the resolved address; -1 on failure. */
static int make_socket(const struct address *address, int flags, struct addrinfo **found, struct failure *failure) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
  char port[8];
  snprintf(port, sizeof port, "%d", address->port);
  int error = getaddrinfo(address->host, port, &hints, found);
  if (error) {
    fail_lost(failure, "%s: %s", address->text, gai_strerror(error));
    return -1;
  }
  int made = socket((*found)->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) {
    lost(failure, address, errno);
    freeaddrinfo(*found);
  }
  return made;
}

static bool finish_connect(int made, const struct address *address, int64_t until_ns, struct failure *failure) {
  if (errno != EINPROGRESS) return lost(failure, address, errno);
  if (!wait_for(made, POLLOUT, until_ns)) return fail_deadline(failure, "%s was not connected in time", address->text);
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size);
  return error ? lost(failure, address, error) : true;
}

int socket_connect(const struct address *address, int64_t until_ns, struct failure *failure) {
  struct addrinfo *found;
  int made = make_socket(address, 0, &found, failure);
  if (made < 0) return -1;
  bool ok = connect(made, found->ai_addr, found->ai_addrlen) == 0 || finish_connect(made, address, until_ns, failure);
  freeaddrinfo(found);
  if (ok) {
    socket_no_delay(made);
    return made;
  }
  close(made);
  return -1;
}

int socket_listen(const struct address *address, struct failure *failure) {
  struct addrinfo *found;
  int made = make_socket(address, AI_PASSIVE, &found, failure);
  if (made < 0) return -1;
  int on = 1;
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  bool ok = bind(made, found->ai_addr, found->ai_addrlen) == 0 && listen(made, BACKLOG) == 0;
  if (!ok) lost(failure, address, errno);
  freeaddrinfo(found);
  if (ok) return made;
  close(made);
  return -1;
}

/** Leaves out the first `size` bytes of a part; how many of them were of others. */
static size_t skip(struct iovec *part, size_t size) {
  size_t own = size < part->iov_len ? size : part->iov_len;
  part->iov_base = (char *)part->iov_base + own;
  part->iov_len -= own;
  return size - own;
}

bool socket_send(int descriptor, const void *head, size_t head_size, const void *rest, size_t rest_size, int64_t until_ns,
                 struct failure *failure) {
  static char nothing;
  struct iovec parts[2] = {{head_size ? (void *)head : &nothing, head_size}, {rest_size ? (void *)rest : &nothing, rest_size}};
  while (parts[0].iov_len + parts[1].iov_len > 0) {
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      skip(&parts[1], skip(&parts[0], (size_t)n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(descriptor, POLLOUT, until_ns)) return fail_deadline(failure, "the other side did not read in time");
    } else if (errno != EINTR) {
      return fail_lost(failure, "%s", strerror(errno));
    }
  }
  return true;
}

bool socket_is_readable(int descriptor) {
  char byte;
  ssize_t n = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}
