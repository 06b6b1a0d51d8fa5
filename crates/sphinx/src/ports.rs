//! Makes sure that the addresses are free, and keeps them so while memory is taken.
//!
//! A port opens once the server can answer, so that an open port means a server that is ready. Until then the ports are
//! bound without listening: a client is refused, and a second server fails at once instead of after it has taken memory.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use reactor::Address;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use crate::config::Config;
use crate::thread::cannot_listen;

/// Ports that are kept free; dropping it releases them.
pub(crate) struct Reserved {
    _ports: Vec<OwnedFd>,
}

/// How long, and how often, a start waits for its addresses: 50 times 20 ms. After SIGKILL the kernel closes the
/// listening sockets of an `io_uring` some ms after the process has ended.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// As [`check_free`], after waiting for a second at most for addresses in use to be released.
pub(crate) fn await_free(config: &Config) -> Result<()> {
    await_free_pausing(config, || thread::sleep(PAUSE))
}

fn await_free_pausing(config: &Config, mut pause: impl FnMut()) -> Result<()> {
    let in_use = || taken(config).is_some_and(|(_, error)| error.kind() == io::ErrorKind::AddrInUse);
    for _ in 0..TRIES {
        if !in_use() {
            break;
        }
        pause();
    }
    check_free(config)
}

/// Makes sure that no other server listens at the addresses of `config`.
///
/// The threads share a port by `SO_REUSEPORT`, and with it a second server of the same user would silently get a part of
/// the first one's connections.
pub(crate) fn check_free(config: &Config) -> Result<()> {
    taken(config).map_or(Ok(()), |(address, error)| Err(cannot_listen(&address, &error)))
}

/// The first address of `config` at which this server could not listen, and the reason.
fn taken(config: &Config) -> Option<(Address, io::Error)> {
    addresses(config).find_map(|address| {
        let outcome = match &address {
            Address::Tcp(socket) => {
                // As servers do, so that connections that have ended (TIME_WAIT) do not matter.
                bind_tcp(*socket, |fd| sockopt::set_socket_reuseaddr(fd, true)).map(drop)
            }
            Address::Udp(socket) => UdpSocket::bind(socket).map(drop),
            Address::Unix(path) => check_path(path),
        };
        outcome.err().map(|error| (address, error))
    })
}

/// Binds the TCP ports of `config`, which have been [checked](check_free), so that the check of another server fails.
///
/// Bounds: not a port on which connections of another program have ended less than a minute ago, and no UDP port: datagrams
/// would be received, and lost.
pub(crate) fn reserve(config: &Config) -> Reserved {
    let tcp =
        addresses(config).filter(|address| !address.is_datagram()).filter_map(|address| address.socket());
    // Without SO_REUSEADDR, with which two sockets that do not listen could be bound to one port.
    let bound = |socket| bind_tcp(socket, |fd| sockopt::set_socket_reuseport(fd, true)).ok();
    Reserved { _ports: tcp.filter(|socket| socket.port() != 0).filter_map(bound).collect() }
}

fn addresses(config: &Config) -> impl Iterator<Item = Address> {
    let encrypted = config.tls.iter().flat_map(|tls| &tls.listen).copied().map(Address::Tcp);
    let own = config.partition_ports.iter().flatten().copied().map(Address::Tcp);
    let resp = config.resp_places().map(|(at, _)| Address::Tcp(at));
    config.listen.iter().cloned().chain(encrypted).chain(own).chain(resp)
}

fn bind_tcp(
    address: SocketAddr,
    set: impl FnOnce(&OwnedFd) -> rustix::io::Result<()>,
) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set(&fd)?;
    bind(&fd, &address)?;
    Ok(fd)
}

/// The event loop takes over sockets left by a dead server, and refuses all else; this refuses the same, earlier.
fn check_path(path: &Path) -> io::Result<()> {
    let taken = |why: &str| {
        let text = format!("cannot listen at unix:{}: {why}; give another path", path.display());
        Err(io::Error::new(io::ErrorKind::AddrInUse, text))
    };
    match path.symlink_metadata() {
        Ok(file) if !file.file_type().is_socket() => taken("there is a file that is not a socket"),
        Ok(_) if UnixStream::connect(path).is_ok() => taken("a server answers there"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_reserved_port_is_taken_for_others_and_closed_to_clients() {
        // A port that was free a moment ago may be taken by another program; the next one hardly is, too.
        let found = (0..10).find_map(|_| {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let config = Config { listen: vec![Address::Tcp(port)], ..Config::for_tests() };
            check_free(&config).ok()?;
            let reserved = reserve(&config);
            (reserved._ports.len() == 1).then_some((port, config, reserved))
        });
        let (port, config, reserved) = found.expect("a free port");
        let error = check_free(&config).unwrap_err().to_string();
        assert!(error.contains("the port is taken"), "{error}");
        assert!(TcpListener::bind(port).is_err());
        let refused = std::net::TcpStream::connect(port).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        drop(reserved);
        check_free(&config).unwrap();
        let _listener = TcpListener::bind(port).unwrap();
        assert!(check_free(&config).is_err());
    }

    #[test]
    fn a_port_in_use_is_waited_for_and_not_for_long() {
        let mut held = Some(TcpListener::bind("127.0.0.1:0").unwrap());
        let port = held.as_ref().unwrap().local_addr().unwrap();
        let config = Config { listen: vec![Address::Tcp(port)], ..Config::for_tests() };
        let at_once = check_free(&config).unwrap_err().to_string();
        let mut pauses = 0;
        let error = await_free_pausing(&config, || pauses += 1).unwrap_err().to_string();
        assert_eq!((pauses, error), (TRIES, at_once));
        let mut pauses = 0;
        await_free_pausing(&config, || {
            pauses += 1;
            if pauses == 3 {
                held = None;
            }
        })
        .unwrap();
        assert_eq!(pauses, 3);
        // Other failures are final.
        let elsewhere = "192.0.2.1:1".parse().unwrap();
        let config = Config { listen: vec![Address::Tcp(elsewhere)], ..Config::for_tests() };
        await_free_pausing(&config, || panic!("it waits")).unwrap_err();
    }

    #[test]
    fn a_path_is_free_unless_a_server_answers_or_a_file_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let config = Config { listen: vec![Address::Unix(path.clone())], ..Config::for_tests() };
        check_free(&config).unwrap();
        let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let error = check_free(&config).unwrap_err().to_string();
        assert!(error.contains("a server answers there"), "{error}");
        drop(server);
        check_free(&config).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(check_free(&config).unwrap_err().to_string().contains("not a socket"));
    }
}
