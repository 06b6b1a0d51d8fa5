use std::io;
use std::net::{IpAddr, TcpListener};

/// A TCP port of `address`, one of this machine's, that no process listens on at this moment.
///
/// Another process may take it before the server does, so a start on it is verified by [`crate::Process::await_port`],
/// which tells which process listens, and tried again on another port. A server that can listen on port 0 and say where
/// should do that instead.
pub fn free_port_at(address: IpAddr) -> io::Result<u16> {
    Ok(TcpListener::bind((address, 0))?.local_addr()?.port())
}
