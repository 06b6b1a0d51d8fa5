use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::net::{SocketFlags, SocketType, bind, connect as sys_connect, sockopt};

use crate::peers::Peers;
use crate::{Datagrams, listener};

/// Requested receive buffer of a socket.
///
/// A reply of 1 MB comes as 750 datagrams of 1400 B at once, and the kernel books each at about 2300 B: 1.7 MB. Twice
/// that leaves room for a stall of the reader.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Room for any datagram whole: a length field of 16 bits allows no more than 65 535 bytes, headers included. So no
/// datagram is ever truncated.
pub(crate) const LARGEST: usize = 64 * 1024;

/// Datagrams taken per readiness. Answers come in bursts, and a poll before each datagram would slow them down; the
/// bound keeps one socket from starving the others.
pub(crate) const PER_EVENT: usize = 64;

/// Peers that a server remembers per listening socket: more than the 10 000 connections that one generator is
/// meant to open, and 2 MB of table when full.
pub(crate) const PEERS: usize = 16 * 1024;

/// A listening datagram socket and the peers that have written to it.
pub(crate) struct Server {
    pub(crate) fd: OwnedFd,
    pub(crate) peers: Peers<SocketAddr>,
}

fn socket(addr: SocketAddr) -> io::Result<OwnedFd> {
    let fd = listener::socket(addr, SocketType::DGRAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
    // Beyond the limit for everybody (`net.core.rmem_max`) needs a privilege; else the kernel gives the limit.
    if sockopt::set_socket_recv_buffer_size_force(&fd, RECEIVE_BUFFER).is_err() {
        sockopt::set_socket_recv_buffer_size(&fd, RECEIVE_BUFFER)?;
    }
    Ok(fd)
}

/// A socket that sends to `addr` alone and receives from there alone.
pub(crate) fn connect(addr: SocketAddr) -> io::Result<OwnedFd> {
    let fd = socket(addr)?;
    sys_connect(&fd, &addr)?;
    Ok(fd)
}

/// A socket that receives at `addr`, sharing the port with others: the kernel keeps each peer at one of them.
pub(crate) fn listen(addr: SocketAddr) -> io::Result<OwnedFd> {
    let fd = socket(addr)?;
    sockopt::set_socket_reuseport(&fd, true)?;
    listener::only_own_protocol(&fd, addr)?;
    bind(&fd, &addr)?;
    Ok(fd)
}

impl Datagrams {
    /// Records the receive buffer that the kernel gave, in bytes of data and bookkeeping.
    pub(crate) fn note_receive_buffer(&mut self, fd: &OwnedFd) {
        // Linux reports twice the requested size, the second half being for its bookkeeping.
        let given = sockopt::socket_recv_buffer_size(fd).unwrap_or(0);
        let least = &mut self.receive_buffer;
        *least = if *least == 0 { given } else { given.min(*least) };
    }
}

/// Why a pseudo-connection ended that made room for another.
pub(crate) fn evicted() -> io::Error {
    let text = "it was silent for longest of the UDP peers, and another one wrote";
    io::Error::new(io::ErrorKind::ConnectionAborted, text)
}
