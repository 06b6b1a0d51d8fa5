use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use proto_memcache::client::{self, Expect, Outcome, Parse, ResponseParser};
use reactor::Address;
use thiserror::Error;

/// The longest time for an answer outside a measurement.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// An error while a server was prepared.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ControlError {
    #[error("cannot connect to {server}: {source}; start the server there, or give another HOST:PORT")]
    Connect { server: String, source: io::Error },
    #[error("{server} did not answer '{asked}' within {} s; is it a memcached-compatible server, and not overloaded?", PATIENCE.as_secs())]
    Silent { server: String, asked: &'static str },
    #[error(
        "{server} closed the connection when asked for '{asked}'; is it a memcached-compatible server with a free connection?"
    )]
    Closed { server: String, asked: &'static str },
    #[error(
        "{server} wants authentication, which the load generator does not do; start it without -S and -Y, or measure a copy of it"
    )]
    Authentication { server: String },
    #[error("{server} answered '{asked}' with {answer}; is it a memcached-compatible server?")]
    Garbage { server: String, asked: &'static str, answer: String },
    #[error("{server} refused to store: {answer}; give it more memory, or use fewer or smaller items")]
    Refused { server: String, answer: String },
    #[error(
        "{server} does not tell which thread owns which key; --placement partitions takes a Sphinx with --partition-ports, such as --server-set partition_ports=on"
    )]
    NoPartitions { server: String },
    #[error("the connection to {server} failed: {source}")]
    Io { server: String, source: io::Error },
}

/// The transport of a control connection: TCP, a Unix socket, TLS over either.
pub trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// Bytes sent ahead on a plain stream. The answers to as many small sets are short enough for any socket buffer, so
/// that neither side waits for the other.
const AHEAD: usize = 256 * 1024;
/// The same if the stream may be TLS: half of memcached's read buffer. The rest of
/// a record that does not fit stays in its TLS library without a socket event, and memcached waits forever (seen with 1.6.18).
const AHEAD_CAUTIOUS: usize = 8 * 1024;

/// A blocking connection for requests outside the measurement.
pub struct Control {
    server: String,
    stream: Box<dyn Stream>,
    /// Bytes that may be sent before the first answer is read.
    ahead: usize,
    parser: ResponseParser,
    received: Vec<u8>,
    /// How much of `received` is used up.
    used: usize,
}

impl Control {
    /// Connects over TCP or a Unix socket, and makes sure that a memcached-compatible server answers.
    ///
    /// Returns the version that the server says it has. A UDP address is connected to over TCP.
    pub fn connect(address: &Address) -> Result<(Control, String), ControlError> {
        let stream = match address {
            Address::Tcp(address) | Address::Udp(address) => TcpStream::connect_timeout(address, PATIENCE)
                .and_then(|stream| {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    Ok(Box::new(stream) as Box<dyn Stream>)
                }),
            Address::Unix(path) => UnixStream::connect(path).and_then(|stream| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Box::new(stream) as Box<dyn Stream>)
            }),
        };
        let server = address.to_string();
        match stream {
            Ok(stream) => {
                let (mut control, version) = Control::over(stream, server)?;
                control.ahead = AHEAD;
                Ok((control, version))
            }
            // Accepted and closed before it was handled.
            Err(source) if source.kind() == io::ErrorKind::ConnectionReset => {
                Err(ControlError::Closed { server, asked: "version" })
            }
            Err(source) => Err(ControlError::Connect { server, source }),
        }
    }

    /// Takes a connected stream, over TLS for instance; `server` is its name in messages.
    ///
    /// Its reads and writes should give up after [`PATIENCE`], by `WouldBlock` or `TimedOut`.
    pub fn over(stream: Box<dyn Stream>, server: String) -> Result<(Control, String), ControlError> {
        let parser = ResponseParser::with_max_value(dist::Size::MAX.0 as usize);
        let ahead = AHEAD_CAUTIOUS;
        let mut control = Control { server, stream, ahead, parser, received: Vec::new(), used: 0 };
        let version = control.ask(client::version, Expect::Version, "version", |outcome| match outcome {
            Outcome::Version(text) => Ok(String::from_utf8_lossy(text).into_owned()),
            other => Err(words(&other)),
        })?;
        // A server that requires authentication may still report its version; a read of a key shows the requirement.
        let probe = |out: &mut Vec<u8>| client::get(out, b"taillight:probe");
        control.ask(probe, Expect::Values { keys: 1 }, "get", |outcome| match outcome {
            Outcome::Error { .. } => Err(words(&outcome)),
            _ => Ok(()),
        })?;
        Ok((control, version))
    }

    /// Bytes that may be sent before the first answer is read.
    pub(super) fn ahead(&self) -> usize {
        self.ahead
    }

    /// The server's name in messages.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The number of items in the server, if it reports it.
    pub fn item_count(&mut self) -> Result<Option<u64>, ControlError> {
        let stats = |out: &mut Vec<u8>| client::stats(out, b"");
        self.ask(stats, Expect::Stats, "stats", |outcome| {
            let Outcome::Stats(stats) = outcome else { return Ok(None) };
            Ok(stats.get("curr_items").and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()))
        })
    }

    /// Where each thread of a server listens for its own keys, in their order.
    ///
    /// Errors: it has no such ports.
    pub fn partitions(&mut self) -> Result<Vec<SocketAddr>, ControlError> {
        let stats = |out: &mut Vec<u8>| client::stats(out, b"partitions");
        let server = self.server.clone();
        let found = self.ask(stats, Expect::Stats, "stats partitions", |outcome| match outcome {
            Outcome::Stats(stats) => {
                let text =
                    |name: &str| stats.get(name).map(|text| String::from_utf8_lossy(text).into_owned());
                let threads = text("threads").and_then(|threads| threads.parse::<usize>().ok()).unwrap_or(0);
                let is_known = text("hash").as_deref() == Some("murmur3_32");
                // The first of several addresses is as good as the others.
                let of = |thread: usize| text(&format!("{thread}:listen"))?.split(',').next()?.parse().ok();
                Ok((0..threads).filter(|_| is_known).map(of).collect::<Option<Vec<SocketAddr>>>())
            }
            // memcached knows no such statistics.
            Outcome::Error { .. } => Ok(None),
            other => Err(words(&other)),
        })?;
        found.filter(|found| !found.is_empty()).ok_or(ControlError::NoPartitions { server })
    }

    /// Sends one request and interprets its answer; `look` returns `Err` with a description of an unexpected answer.
    pub(super) fn ask<T>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>),
        expect: Expect,
        asked: &'static str,
        look: impl FnOnce(Outcome<'_>) -> Result<T, String>,
    ) -> Result<T, ControlError> {
        let mut out = Vec::new();
        write(&mut out);
        self.write(&out, asked)?;
        let mut found = None;
        self.read(expect, asked, |outcome| found = Some(look(outcome)))?;
        match found.expect("read looks at one answer") {
            Ok(found) => Ok(found),
            Err(answer) if answer.contains("unauthenticated") => {
                Err(ControlError::Authentication { server: self.server.clone() })
            }
            Err(answer) => Err(ControlError::Garbage { server: self.server.clone(), asked, answer }),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], asked: &'static str) -> Result<(), ControlError> {
        // A stream with a layer of its own, such as TLS, may hold bytes back until it is flushed.
        let written = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        written.map_err(|source| self.failed(source, asked))
    }

    /// Reads one answer and shows it to `look`.
    pub(super) fn read(
        &mut self,
        expect: Expect,
        asked: &'static str,
        look: impl FnOnce(Outcome<'_>),
    ) -> Result<(), ControlError> {
        loop {
            match self.parser.parse(expect, &self.received[self.used..]) {
                Parse::Done { consumed, outcome } => {
                    look(outcome);
                    self.used += consumed;
                    return Ok(());
                }
                Parse::Malformed(reason) => {
                    let server = self.server.clone();
                    return Err(ControlError::Garbage { server, asked, answer: reason.to_string() });
                }
                Parse::NeedMore { .. } => {}
            }
            self.received.drain(..self.used);
            self.used = 0;
            let filled = self.received.len();
            self.received.resize(filled + 64 * 1024, 0);
            let got = self.stream.read(&mut self.received[filled..]);
            self.received.truncate(filled + *got.as_ref().unwrap_or(&0));
            match got {
                Ok(0) => return Err(ControlError::Closed { server: self.server.clone(), asked }),
                Ok(_) => {}
                Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.failed(source, asked)),
            }
        }
    }

    fn failed(&self, source: io::Error, asked: &'static str) -> ControlError {
        let server = self.server.clone();
        match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ControlError::Silent { server, asked },
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
                ControlError::Closed { server, asked }
            }
            _ => ControlError::Io { server, source },
        }
    }
}

/// An answer, as messages quote it.
pub(super) fn words(outcome: &Outcome<'_>) -> String {
    match outcome {
        Outcome::Error { text, .. } => format!("'{}'", String::from_utf8_lossy(text)),
        other => format!("{other:?}"),
    }
}
