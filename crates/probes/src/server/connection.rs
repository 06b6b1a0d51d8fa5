use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use reactor::Address;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{SendFlags, getsockname, send};

/// Time limit of a server's response; the probes wait for it.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// More than any response: memcached's has 3 KiB, Sphinx's metrics 15 KiB for each thread.
const LONGEST: usize = 8 << 20;

/// A connection that sends one request after the other.
pub(super) struct Connection {
    socket: OwnedFd,
    received: Vec<u8>,
}

impl Connection {
    /// Errors: it is not accepted in time.
    pub(super) fn open(address: &Address) -> io::Result<Connection> {
        let socket = match address {
            Address::Tcp(address) | Address::Udp(address) => {
                let stream = TcpStream::connect_timeout(address, PATIENCE)?;
                stream.set_nodelay(true)?;
                stream.into()
            }
            Address::Unix(path) => UnixStream::connect(path)?.into(),
        };
        Ok(Connection { socket, received: Vec::new() })
    }

    /// The port of this end, if it has one.
    pub(super) fn own_port(&self) -> Option<u16> {
        SocketAddr::try_from(getsockname(&self.socket).ok()?).ok().map(|address| address.port())
    }

    /// Sends a request, and passes all received bytes to `read` until it returns a result, with whether more may come.
    ///
    /// Errors: those of `read`; the response is incomplete at the time limit. The connection is useless then.
    pub(super) fn ask<T>(
        &mut self,
        question: &[u8],
        read: impl Fn(&[u8], bool) -> io::Result<Option<T>>,
    ) -> io::Result<T> {
        let until = Instant::now() + PATIENCE;
        self.received.clear();
        if send(&self.socket, question, SendFlags::NOSIGNAL)? < question.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let mut piece = [0; 16 << 10];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late());
            }
            set_socket_timeout(&self.socket, Timeout::Recv, Some(left))?;
            let length = match rustix::io::read(&self.socket, &mut piece[..]) {
                Ok(length) => length,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Err(late()),
                Err(error) => return Err(error.into()),
            };
            self.received.extend_from_slice(&piece[..length]);
            if let Some(answer) = read(&self.received, length > 0)? {
                return Ok(answer);
            }
            if length == 0 || self.received.len() > LONGEST {
                return Err(io::Error::other("it ended the connection, or answers without end"));
            }
        }
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("no whole answer within {} s", PATIENCE.as_secs()))
}
