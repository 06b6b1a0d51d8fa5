use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{SocketFlags, SocketType, accept_with, connect as sys_connect, sockopt};

use crate::{Via, listener};

pub(super) const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

pub(super) fn accept(listener: impl AsFd) -> Result<OwnedFd, Errno> {
    let fd = accept_with(listener, FLAGS)?;
    // A reply must not wait for the acknowledgement of the one before (Nagle's algorithm).
    let _ = sockopt::set_tcp_nodelay(&fd, true);
    Ok(fd)
}

pub(super) fn connect(addr: SocketAddr, via: &Via) -> io::Result<OwnedFd> {
    let fd = listener::socket(addr, SocketType::STREAM, FLAGS)?;
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
