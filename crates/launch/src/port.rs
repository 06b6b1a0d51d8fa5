use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A TCP port on loopback that nobody listens on at this moment.
///
/// Somebody else may take it before the server does, so a start on it is verified by
/// [`crate::Process::await_port`], which tells whose the listener is, and tried again on another port.
/// A server that can listen on port 0 and say where should do that instead.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
