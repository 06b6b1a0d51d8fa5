use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, connect as sys_connect, getsockname,
    listen as sys_listen, socket_with, sockopt,
};

use crate::Via;

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

fn tcp(addr: SocketAddr) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(socket_with(family, SocketType::STREAM, FLAGS, None)?)
}

pub(super) fn listen(addr: SocketAddr, backlog: u32) -> io::Result<OwnedFd> {
    let fd = tcp(addr)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    sockopt::set_socket_reuseport(&fd, true)?;
    crate::listener::prepare(&fd, addr)?;
    bind(&fd, &addr)?;
    sys_listen(&fd, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(fd)
}

pub(super) fn local_address(fd: &OwnedFd) -> io::Result<SocketAddr> {
    Ok(getsockname(fd)?.try_into()?)
}

pub(super) fn accept(listener: impl AsFd) -> Result<OwnedFd, Errno> {
    let fd = accept_with(listener, FLAGS)?;
    // A reply must not wait for the acknowledgement of the one before (Nagle's algorithm).
    let _ = sockopt::set_tcp_nodelay(&fd, true);
    Ok(fd)
}

pub(super) fn connect(addr: SocketAddr, via: &Via) -> io::Result<OwnedFd> {
    let fd = tcp(addr)?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    via.prepare(&fd)?;
    match sys_connect(&fd, &addr) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(fd),
        Err(error) => Err(via.explain(addr, error)),
    }
}

/// Result of a connect, once the kernel reports the socket writable or broken.
pub(super) fn outcome_of_connect(fd: &OwnedFd) -> Result<(), Errno> {
    sockopt::socket_error(fd)?
}

/// Makes a close reset the connection and drop unsent output: its linger time is 0. Another kind of socket has no
/// such option, and closes.
pub(super) fn reset_at_close(fd: &OwnedFd) {
    let _ = sockopt::set_socket_linger(fd, Some(Duration::ZERO));
}
