use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::net::sockopt;

use crate::unix;

/// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn` (4096 by default).
pub(crate) const BACKLOG: u32 = 4096;

/// A listening socket of streams.
pub(crate) enum Listener {
    Tcp(OwnedFd),
    Unix(Arc<unix::Listener>),
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(fd) => fd.as_fd(),
            Listener::Unix(listener) => listener.fd.as_fd(),
        }
    }
}

/// Has the connections of a listening socket end when their peers are gone without a word, and restricts it to its protocol.
pub(crate) fn prepare(fd: &OwnedFd, addr: SocketAddr) -> io::Result<()> {
    // Accepted sockets inherit it.
    sockopt::set_socket_keepalive(fd, true)?;
    only_own_protocol(fd, addr)
}

/// An IPv6 socket takes no IPv4, so that `::` and `0.0.0.0` can be listened on together.
pub(crate) fn only_own_protocol(fd: &OwnedFd, addr: SocketAddr) -> io::Result<()> {
    if addr.is_ipv6() {
        sockopt::set_ipv6_v6only(fd, true)?;
    }
    Ok(())
}

/// A descriptor to give up when there are none left.
pub(crate) fn spare() -> Option<OwnedFd> {
    rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}
