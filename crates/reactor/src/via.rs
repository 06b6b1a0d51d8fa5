use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use nix::sys::socket::{setsockopt, sockopt as more};
use rustix::io::Errno;
use rustix::net::{bind, sockopt};

use crate::Address;

/// How a client's connection is opened; by default as the kernel does it by itself.
///
/// Bounds: of TCP only. A Unix socket has no such address and no window, and a UDP socket has a buffer for bursts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Via {
    /// The address of this machine that it comes from. The kernel chooses the port.
    pub source: Option<IpAddr>,
    /// The receive buffer, which bounds how far the server may send ahead of the reader, from its first answer on.
    /// Units: bytes, to which the kernel adds as many for its bookkeeping; it gives no less than 2304 B with these.
    pub receive_buffer: Option<u32>,
    /// The most bytes of a segment in either direction: as on a network, where the device has larger ones, such as loopback.
    /// Units: bytes, without the headers.
    pub segment: Option<u32>,
}

impl Via {
    /// Whether all fields have their defaults.
    pub fn is_default(&self) -> bool {
        *self == Via::default()
    }

    /// Why a connection to `addr` cannot be opened so, if it is known before.
    pub(crate) fn check(&self, addr: &Address) -> io::Result<()> {
        let Address::Tcp(to) = addr else {
            return if self.is_default() { Ok(()) } else { Err(self.refused(addr)) };
        };
        match self.source {
            Some(source) if source.is_ipv4() != to.is_ipv4() => {
                let family = |is_ipv4| if is_ipv4 { "an IPv4" } else { "an IPv6" };
                let text = format!(
                    "a connection from {source} to {addr} is not possible: {} address cannot reach {} one; give a source of the \
                     server's family",
                    family(source.is_ipv4()),
                    family(to.is_ipv4())
                );
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
            _ => Ok(()),
        }
    }

    /// The error of a connection that knows neither source address nor receive buffer.
    pub(crate) fn refused(&self, addr: &Address) -> io::Error {
        let asked = match (self.source, self.receive_buffer, self.segment) {
            (Some(source), ..) => format!("a source address ({source})"),
            (None, Some(bytes), _) => format!("a receive buffer ({bytes} B)"),
            (None, None, bytes) => format!("segments of a size ({} B)", bytes.unwrap_or(0)),
        };
        let text = format!("a connection to {addr} cannot have {asked}: only TCP can; give a HOST:PORT");
        io::Error::new(io::ErrorKind::Unsupported, text)
    }

    /// Prepares a TCP socket that is not connected yet.
    ///
    /// Errors: no interface has the source address; the kernel allows no such receive buffer.
    pub(crate) fn prepare(&self, fd: &OwnedFd) -> io::Result<()> {
        if let Some(bytes) = self.receive_buffer {
            set_receive_buffer(fd, bytes)?;
        }
        if let Some(bytes) = self.segment {
            setsockopt(fd, more::TcpMaxSeg, &bytes)?;
        }
        let Some(source) = self.source else { return Ok(()) };
        // The port is chosen when it connects, so that one port can lead to many servers: without this, bind would take
        // one that no other socket of the address has.
        setsockopt(fd, more::IpBindAddressNoPort, &true)?;
        bind(fd, &SocketAddr::new(source, 0)).map_err(|errno| match errno {
            Errno::ADDRNOTAVAIL => {
                let text = format!(
                    "cannot connect from {source}: no interface of this machine has that address; add it (ip address add \
                     {source} dev DEVICE), or give another"
                );
                io::Error::new(io::ErrorKind::AddrNotAvailable, text)
            }
            errno => errno.into(),
        })
    }

    /// Explains why a prepared socket could not be connected.
    pub(crate) fn explain(&self, to: SocketAddr, error: Errno) -> io::Error {
        match self.source {
            Some(source) if error == Errno::ADDRNOTAVAIL => {
                let text = format!(
                    "cannot connect from {source} to {to}: each port of the range is in use (/proc/sys/net/ipv4/ip_local_port_range); \
                     widen it, or give more source addresses"
                );
                io::Error::new(io::ErrorKind::AddrNotAvailable, text)
            }
            _ => error.into(),
        }
    }
}

fn set_receive_buffer(fd: &OwnedFd, bytes: u32) -> io::Result<()> {
    let wanted = bytes as usize;
    let asked = wanted.min(i32::MAX as usize);
    sockopt::set_socket_recv_buffer_size(fd, asked)?;
    // Linux reports twice the requested size.
    let given = |fd: &OwnedFd| sockopt::socket_recv_buffer_size(fd).map(|all| all / 2);
    if given(fd)? >= wanted {
        return Ok(());
    }
    // Beyond the limit for everybody needs a privilege.
    if sockopt::set_socket_recv_buffer_size_force(fd, asked).is_ok() && given(fd)? >= wanted {
        return Ok(());
    }
    let text = format!(
        "cannot give a connection a receive buffer of {bytes} B: this machine allows {} B; raise net.core.rmem_max, or ask for less",
        given(fd)?
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, getsockname, socket_with};

    use super::*;

    /// A port taken when the source is bound would be unavailable to all other connections of that address, which
    /// would limit them, to all servers together, to the number of ports.
    #[test]
    fn a_socket_is_prepared_and_has_no_port_yet() {
        let flags = SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
        let source = Some("127.0.0.2".parse().unwrap());
        let via = Via { source, receive_buffer: Some(20_000), segment: Some(1_448) };
        via.prepare(&fd).unwrap();
        let own = SocketAddr::try_from(getsockname(&fd).unwrap()).unwrap();
        assert_eq!(own, "127.0.0.2:0".parse().unwrap());
        assert_eq!(sockopt::socket_recv_buffer_size(&fd).unwrap(), 40_000);
        assert_eq!(nix::sys::socket::getsockopt(&fd, more::TcpMaxSeg).unwrap(), 1_448);
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        let check = |addr: Address, source: Option<&str>, receive_buffer, expect: Option<&str>| {
            let source = source.map(|text| text.parse().unwrap());
            let via = Via { source, receive_buffer, ..Via::default() };
            let text = via.check(&addr).err().map(|error| error.to_string());
            match (&text, expect) {
                (None, None) => {}
                (Some(text), Some(expect)) => assert!(text.contains(expect), "{text}"),
                _ => panic!("{addr} by {via:?}: {text:?}"),
            }
        };
        let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
        let udp = Address::Udp("127.0.0.1:7".parse().unwrap());
        let unix = Address::Unix("/tmp/socket".into());
        check(tcp("127.0.0.1:7"), Some("127.0.0.2"), Some(65_536), None);
        check(tcp("[::1]:7"), Some("::1"), None, None);
        check(tcp("[::1]:7"), Some("127.0.0.2"), None, Some("an IPv4 address cannot reach an IPv6 one"));
        check(tcp("127.0.0.1:7"), Some("::1"), None, Some("an IPv6 address cannot reach an IPv4 one"));
        check(udp.clone(), None, None, None);
        check(
            udp,
            Some("127.0.0.2"),
            None,
            Some("udp://127.0.0.1:7 cannot have a source address (127.0.0.2)"),
        );
        check(unix.clone(), None, None, None);
        check(unix, None, Some(4_096), Some("unix:/tmp/socket cannot have a receive buffer (4096 B)"));
    }
}
