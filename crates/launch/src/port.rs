use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use crate::{Error, Process, Spec};

/// How often another port is tried because another process took the last between the choice and the start.
const PORT_TRIES: usize = 5;

/// A TCP port on loopback that no process listens on at this moment.
///
/// Another process may take it before the server does, so a start on it is verified by
/// [`Process::await_port`], which tells which process listens, and tried again on another port.
/// A server that can listen on port 0 and say where should do that instead.
pub fn free_port() -> io::Result<u16> {
    free_port_at(Ipv4Addr::LOCALHOST.into())
}

/// As [`free_port`], at another address of this machine.
pub fn free_port_at(address: IpAddr) -> io::Result<u16> {
    Ok(TcpListener::bind((address, 0))?.local_addr()?.port())
}

/// Starts the server `name` as `spec` says for a free port of `ip`, an address of this machine, and waits up to `within`
/// until it accepts connections; returns where.
///
/// Errors: those of `spec` and [`Process::spawn`]; no port is free; or it does not come to listen on one.
pub(crate) fn started_on_free_port(
    name: &str,
    ip: IpAddr,
    within: Duration,
    spec: impl Fn(SocketAddr) -> Result<Spec, Error>,
) -> Result<(Process, SocketAddr), Error> {
    let mut tries = 0;
    loop {
        let port = free_port_at(ip).map_err(|source| Error::Os {
            name: name.into(),
            doing: "cannot find a free port",
            source,
        })?;
        let address = SocketAddr::new(ip, port);
        let mut process = Process::spawn(spec(address)?)?;
        match process.await_port(address, within) {
            Ok(()) => return Ok((process, address)),
            Err(Error::PortTaken { .. }) if tries < PORT_TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}
