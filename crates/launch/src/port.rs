use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener};

/// A TCP port on loopback that nobody listens on at this moment.
///
/// Somebody else may take it before the server does, so a start on it is verified by
/// [`crate::Process::await_port`], which tells whose the listener is, and tried again on another port.
/// A server that can listen on port 0 and say where should do that instead.
pub fn free_port() -> io::Result<u16> {
    free_port_at(Ipv4Addr::LOCALHOST.into())
}

/// As [`free_port`], at another address of this machine.
pub(crate) fn free_port_at(address: IpAddr) -> io::Result<u16> {
    Ok(TcpListener::bind((address, 0))?.local_addr()?.port())
}
