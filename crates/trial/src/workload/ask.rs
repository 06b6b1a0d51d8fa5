//! Requests to HTTP servers before a load, over connections with a time limit.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};
use reactor::Address;
use reactor::tls::Failure;
use workloads::cache::{PATIENCE, Stream};
use workloads::web::ProbeError;
use workloads::{Peer, Stranger};

use crate::generate::Interrupted;
use crate::tls::{TlsClient, encrypted};
use crate::workload::Reach;

/// How often a request to stop is checked while waiting for a server.
const LOOK: Duration = Duration::from_millis(100);
/// Time limit of a question to a server of unknown kind, whose answer is only for a message.
const STRANGER: Duration = Duration::from_secs(1);
/// Time limit of one login before a load. Source: four times the duration of four concurrent logins on one core with
/// the highest bcrypt cost of our sites, 15: 2 s each.
pub(crate) const LOGIN_MOST: Duration = Duration::from_secs(30);

impl Reach<'_> {
    /// Sends requests to the server at `address` over a new connection; all of it takes at most 5 s.
    ///
    /// Errors: the server cannot be reached; any error of `ask`; a stop is requested.
    pub(super) fn ask<T, E: std::error::Error + Send + Sync + 'static>(
        self,
        address: &Address,
        ask: impl FnOnce(&mut Box<dyn Stream>) -> Result<T, E>,
    ) -> Result<T> {
        let Reach { tls, stop, .. } = self;
        let connected = Bounded::connect(address, &Deadline::after(PATIENCE), tls, stop);
        let mut stream = connected.map_err(|error| {
            let what = refused(address, &error);
            Error::new(error).context(what)
        })?;
        let answer = ask(&mut stream);
        if stop.load(Ordering::Relaxed) {
            bail!(Interrupted);
        }
        answer.map_err(|error| {
            let error = Error::new(error);
            let Some(found) = stranger(address, tls, error.as_ref(), stop) else { return error };
            let server = address.to_string();
            Error::new(match tls {
                None => ProbeError::Other { server, found },
                Some(_) => ProbeError::Plain { server, found },
            })
        })
    }

    /// Connects to the first server; connecting and all requests together have this time limit.
    ///
    /// Errors: the server cannot be reached; later, the time is over or a stop is requested.
    pub(super) fn connect(self, within: Duration) -> io::Result<Box<dyn Stream>> {
        Bounded::connect(&self.task.addresses[0], &Deadline::after(within), self.tls, self.stop)
    }

    /// Connects to the first server for several requests, each of which takes at most 5 s.
    ///
    /// Errors: the same as of [`Reach::connect`].
    pub(super) fn keep(self) -> io::Result<KeptConnection> {
        let deadline = Deadline::after(PATIENCE);
        let stream = Bounded::connect(&self.task.addresses[0], &deadline, self.tls, self.stop)?;
        Ok(KeptConnection { stream, deadline, has_read: false })
    }
}

/// The server of another kind that is at `address`, if it is one: of another protocol, or without the TLS that failed by
/// `error`. Asks over a connection of its own, without TLS.
pub(crate) fn stranger(
    address: &Address,
    tls: Option<&TlsClient>,
    error: &(dyn std::error::Error + 'static),
    stop: &Arc<AtomicBool>,
) -> Option<Stranger> {
    let connected = Bounded::connect(address, &Deadline::after(STRANGER), None, stop);
    let found = Peer::ask(&mut connected.ok()?)?;
    match (tls, found.peer) {
        // The expected kind, which fails for another reason.
        (None, Peer::Http | Peer::Http2) | (Some(_), Peer::Tls) => None,
        // Servers of HTTPS answer some requests without TLS, too, in order to refuse them.
        (Some(_), Peer::Http) if !is_not_tls(error) => None,
        _ => Some(found),
    }
}

/// Whether the peer answered a handshake of TLS with other bytes.
fn is_not_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let is_it = |error: &(dyn std::error::Error + 'static)| {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.and_then(|inner| inner.downcast_ref::<Failure>()).is_some_and(Failure::is_not_tls)
    };
    std::iter::successors(Some(error), |error| error.source()).any(is_it)
}

/// A connection that is kept for several requests.
pub(super) struct KeptConnection {
    stream: Box<dyn Stream>,
    deadline: Deadline,
    /// Whether a read followed the last write: then the next write begins a new request.
    has_read: bool,
}

impl Read for KeptConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.has_read = true;
        self.stream.read(buffer)
    }
}

impl Write for KeptConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if std::mem::take(&mut self.has_read) {
            self.deadline.renew(PATIENCE);
        }
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Deadline of a socket, shared with a socket below TLS.
#[derive(Clone)]
struct Deadline(Arc<Mutex<Instant>>);

impl Deadline {
    fn after(within: Duration) -> Deadline {
        Deadline(Arc::new(Mutex::new(Instant::now() + within)))
    }

    fn renew(&self, within: Duration) {
        *self.0.lock().expect("no thread panics with it") = Instant::now() + within;
    }

    fn is_over(&self) -> bool {
        Instant::now() >= *self.0.lock().expect("no thread panics with it")
    }
}

/// A socket that fails after its deadline, or once a stop is requested.
struct Bounded {
    socket: TcpStream,
    deadline: Deadline,
    stop: Arc<AtomicBool>,
}

impl Bounded {
    /// Connects to `address`; all reads and writes have the deadline. TLS is on top of it, so its handshake has the
    /// same deadline.
    fn connect(
        address: &Address,
        deadline: &Deadline,
        tls: Option<&TlsClient>,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Box<dyn Stream>> {
        let to = address
            .socket()
            .ok_or_else(|| io::Error::other("an HTTP server is named by its URL, and asked over TCP"))?;
        let socket = TcpStream::connect_timeout(&to, PATIENCE)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_write_timeout(Some(LOOK))?;
        encrypted(Bounded { socket, deadline: deadline.clone(), stop: Arc::clone(stop) }, tls)
    }

    fn until<T>(&mut self, mut work: impl FnMut(&mut TcpStream) -> io::Result<T>) -> io::Result<T> {
        while !self.deadline.is_over() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("interrupted"));
            }
            match work(&mut self.socket) {
                Err(error) if is_patient(error.kind()) => {}
                done => return done,
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

fn is_patient(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.until(|socket| socket.read(buffer))
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.until(|socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Hint for a server that refuses connections.
fn refused(address: &Address, error: &io::Error) -> String {
    match error.kind() {
        // A server that listens may reset a connection this early.
        io::ErrorKind::ConnectionReset => {
            format!("{address} closed the connection at once; is it an HTTP server?")
        }
        _ => format!("cannot connect to {address}; start the server there, or give another --target"),
    }
}
