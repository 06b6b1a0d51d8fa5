use std::ffi::OsStr;
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::net::{SocketAddrAny, SocketAddrUnix, getpeername, getsockname};

/// The address of a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A UDP port: each flush leaves as one datagram, each received datagram is one
    /// [`Event::Data`](crate::Event::Data). Datagrams may get lost without notice.
    Udp(SocketAddr),
    /// A Unix stream socket in the file system.
    Unix(PathBuf),
}

impl Address {
    /// The network address, if it is one.
    pub fn socket(&self) -> Option<SocketAddr> {
        match self {
            Address::Tcp(address) | Address::Udp(address) => Some(*address),
            Address::Unix(_) => None,
        }
    }

    /// Whether each message travels alone and may get lost or overtaken.
    pub fn is_datagram(&self) -> bool {
        matches!(self, Address::Udp(_))
    }

    /// Whether it is on this machine.
    pub fn is_local(&self) -> bool {
        self.socket().is_none_or(|address| address.ip().is_loopback())
    }
}

/// Where the two ends of a connected stream are, the peer's first; see [`Reactor::addresses`](crate::Reactor::addresses).
pub(crate) fn of_ends(fd: &OwnedFd) -> Option<(Address, Address)> {
    let own = read(getsockname(fd).ok()?)?;
    let peer = getpeername(fd).ok().flatten().and_then(read).unwrap_or_else(|| own.clone());
    Some((peer, own))
}

fn read(address: SocketAddrAny) -> Option<Address> {
    if let Ok(unix) = SocketAddrUnix::try_from(address.clone()) {
        let path = unix.path()?;
        return Some(Address::Unix(OsStr::from_bytes(path.as_ref().to_bytes()).into()));
    }
    SocketAddr::try_from(address).ok().map(Address::Tcp)
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Udp(address) => f.pad(&format!("udp://{address}")),
            Address::Unix(path) => f.pad(&format!("unix:{}", path.display())),
        }
    }
}
