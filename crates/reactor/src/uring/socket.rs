//! Sockets as the ring wants them: blocking, since on others the kernel reports that it would block instead of waiting.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, getsockname, listen as sys_listen,
    socket_with, sockopt,
};

pub(super) fn tcp(addr: SocketAddr) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // A message must not wait for the acknowledgement of the one before (Nagle's algorithm).
    sockopt::set_tcp_nodelay(&fd, true)?;
    Ok(fd)
}

pub(super) fn unix() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

pub(super) fn listen(addr: SocketAddr, backlog: u32) -> io::Result<(OwnedFd, SocketAddr)> {
    let fd = tcp(addr)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    sockopt::set_socket_reuseport(&fd, true)?;
    crate::listener::prepare(&fd, addr)?;
    bind(&fd, &addr)?;
    sys_listen(&fd, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    let taken = getsockname(&fd)?.try_into()?;
    Ok((fd, taken))
}

pub(super) fn accept(listener: &OwnedFd) -> Result<OwnedFd, Errno> {
    accept_with(listener, SocketFlags::CLOEXEC)
}

/// Takes a client without waiting for one.
///
/// Bounds: no accept of the ring may be under way on this listener.
pub(super) fn accept_now(listener: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = fcntl_getfl(listener)?;
    fcntl_setfl(listener, flags | OFlags::NONBLOCK)?;
    let client = accept(listener);
    fcntl_setfl(listener, flags)?;
    client
}
