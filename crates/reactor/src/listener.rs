use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, getsockname, listen as sys_listen, socket_with, sockopt,
};

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

/// A socket of the address's family.
pub(crate) fn socket(addr: SocketAddr, kind: SocketType, flags: SocketFlags) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(socket_with(family, kind, flags, None)?)
}

/// A socket that takes connections at `addr`, and the address taken.
pub(crate) fn listen(
    addr: SocketAddr,
    backlog: u32,
    flags: SocketFlags,
) -> io::Result<(OwnedFd, SocketAddr)> {
    let fd = socket(addr, SocketType::STREAM, flags)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    sockopt::set_socket_reuseport(&fd, true)?;
    // Connections end when their peers are gone without a word: accepted sockets inherit it.
    sockopt::set_socket_keepalive(&fd, true)?;
    only_own_protocol(&fd, addr)?;
    bind(&fd, &addr)?;
    sys_listen(&fd, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    let taken = getsockname(&fd)?.try_into()?;
    Ok((fd, taken))
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
