mod dialect;
mod login;
mod resp;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use proto_memcache::client::{self, Expect, Outcome, Parse, ResponseParser, Values};
use proto_memcache::{Reply, StoreVerb};
use proto_resp::client::ReplyParser;
use reactor::Address;
use thiserror::Error;

use crate::cache::holdings::Holdings;
use crate::peer::{Family, Peer, Stranger, excerpt};

pub use dialect::Dialect;

/// The longest time for an answer outside a measurement.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The first question to a server.
const VERSION: &str = "version";
/// The key of the first read; the server is expected to lack it.
const PROBE: &[u8] = b"taillight:probe";
/// The name of the request that stores, in messages.
const SET: &str = "set";
/// The request for all keys. Source: memcached's `protocol.txt`, LRU_Crawler.
const LIST: &[u8] = b"lru_crawler metadump all\r\n";
/// Its name in messages.
const LIST_NAME: &str = "lru_crawler metadump";
/// The time between two requests to a crawler that is busy. Source: ours; memcached's crawler rests for 0.1 ms at a time.
const BUSY: Duration = Duration::from_millis(20);

/// An error while a server was prepared.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ControlError {
    #[error("cannot connect to {server}: {source}; start the server there, or give another HOST:PORT")]
    Connect { server: String, source: io::Error },
    #[error("{server} did not answer '{asked}' within {} s; is it {}, and not overloaded?", PATIENCE.as_secs(), family.in_full())]
    Silent { server: String, asked: &'static str, family: Family },
    #[error(
        "{server} closed the connection when asked for '{asked}'; is it {family} with a free connection, and without TLS?"
    )]
    Closed { server: String, asked: &'static str, family: Family },
    #[error(
        "{server} wants authentication; give a user of its -Y and the password with --auth-file FILE; the load generator does not speak SASL (-S)"
    )]
    Authentication { server: String },
    #[error("{server} wants no login, and would store the password as an item; leave out --auth-file")]
    Unlocked { server: String },
    #[error("{server} wants a login; give its user and password with --auth-file FILE")]
    NoLogin { server: String },
    #[error("{server} refused the login: '{answer}'; correct the file of --auth-file")]
    Login { server: String, answer: String },
    #[error("{server} is a node of a Redis Cluster, and has only some of the keys; add --placement cluster")]
    Node { server: String },
    #[error(
        "{server} is no node of a whole Redis Cluster: {problem}; leave out --placement cluster, or mend the cluster"
    )]
    NoCluster { server: String, problem: String },
    #[error("{server} answered '{asked}' with '{answer}'; is it {family}?")]
    Garbage { server: String, asked: &'static str, answer: String, family: Family },
    #[error(
        "{server} answered '{asked}' with '{answer}', so that it serves no reads; see its log and the servers behind it"
    )]
    NotServing { server: String, asked: &'static str, answer: String },
    #[error("{server} is {found}; {}", found.peer.instead_of_cache(server, *.family))]
    Other { server: String, found: Stranger, family: Family },
    #[error("{server} does not speak TLS and is {found}; {}", found.peer.instead_of_cache(server, *.family))]
    Plain { server: String, found: Stranger, family: Family },
    #[error("{server} refused to store: '{answer}'; give it more memory, or use fewer or smaller items")]
    Refused { server: String, answer: String },
    #[error(
        "{server} does not tell which thread owns which key; --placement partitions takes a Sphinx with --partition-ports, such as --server-set partition_ports=on"
    )]
    NoPartitions { server: String },
    #[error("{server} {found}; {then}; add --yes to agree, or measure a server of its own, such as --target sphinx{}", if *.reads { ", or only read with --fill never" } else { "" })]
    Agreement { server: String, found: String, then: String, reads: bool },
    #[error("the connection to {server} failed: {source}")]
    Io { server: String, source: io::Error },
}

impl ControlError {
    /// The message without the advice.
    pub(super) fn fact(&self) -> String {
        let text = self.to_string();
        text.split_once("; ").map_or(text.clone(), |(fact, _)| fact.into())
    }

    /// The same error, for the first read from a server.
    fn of_read(self) -> ControlError {
        match self {
            ControlError::Garbage { server, asked, answer, .. } => {
                ControlError::NotServing { server, asked, answer }
            }
            error => error,
        }
    }
}

/// The transport of a control connection: TCP, a Unix socket, TLS over either.
pub trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// Makes a connection to a server.
pub type Connect<'a> = dyn Fn() -> io::Result<Box<dyn Stream>> + 'a;

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
    dialect: Dialect,
    parser: ResponseParser,
    replies: ReplyParser,
    received: Vec<u8>,
    /// How much of `received` is used up.
    used: usize,
}

impl Control {
    /// Connects over TCP or a Unix socket, and makes sure that a server of this protocol answers.
    ///
    /// Returns the version that the server says it has, if it does. A UDP address is connected to over TCP.
    pub fn connect(address: &Address, dialect: &Dialect) -> Result<(Control, Option<String>), ControlError> {
        Control::open(address.to_string(), AHEAD, dialect, &|| stream(address))
    }

    /// The same over streams that `connect` makes, over TLS for instance; `server` is its name in messages.
    ///
    /// Reads and writes should give up after [`PATIENCE`], by `WouldBlock` or `TimedOut`.
    pub fn over(
        server: String,
        dialect: &Dialect,
        connect: &Connect<'_>,
    ) -> Result<(Control, Option<String>), ControlError> {
        Control::open(server, AHEAD_CAUTIOUS, dialect, connect)
    }

    fn open(
        server: String,
        ahead: usize,
        dialect: &Dialect,
        connect: &Connect<'_>,
    ) -> Result<(Control, Option<String>), ControlError> {
        let (asked, family) = match dialect {
            Dialect::Memcached { .. } => (VERSION, Family::Memcached),
            Dialect::Resp { .. } => (resp::INFO, Family::Redis),
        };
        let again = || -> Result<Control, ControlError> {
            let stream = connect().map_err(|source| match source.kind() {
                // Accepted and closed before it was handled.
                io::ErrorKind::ConnectionReset => {
                    ControlError::Closed { server: server.clone(), asked, family }
                }
                _ => ControlError::Connect { server: server.clone(), source },
            })?;
            let parser = ResponseParser::with_max_value(dist::Size::MAX.0 as usize);
            let (replies, received) = (ReplyParser::default(), Vec::new());
            let (server, spoken) = (server.clone(), dialect.clone());
            let mut control =
                Control { server, stream, ahead, dialect: spoken, parser, replies, received, used: 0 };
            if let Dialect::Memcached { login: Some(login) } = dialect {
                control.log_in(login)?;
            }
            Ok(control)
        };
        let mut control = again()?;
        if let Dialect::Resp { login, cluster } = dialect {
            let version = control.introduce(login.as_ref(), *cluster)?;
            return Ok((control, version));
        }
        // A proxy may know no versions, and say so by an error or by a close.
        let (version, refused) = match control.version() {
            Ok(Ok(version)) => (Some(version), None),
            Ok(Err(answer)) => {
                (None, Some(ControlError::Garbage { server: server.clone(), asked, answer, family }))
            }
            Err(closed @ ControlError::Closed { .. }) => {
                control = again().map_err(|_| closed)?;
                (None, Some(ControlError::Closed { server: server.clone(), asked, family }))
            }
            Err(error) => return Err(error),
        };
        match (control.probe(), refused) {
            (Ok(()), _) => Ok((control, version)),
            (Err(ControlError::Closed { .. } | ControlError::Silent { .. }), Some(refused)) => Err(refused),
            (Err(error), _) => Err(error),
        }
    }

    /// The version, or the text of an error.
    fn version(&mut self) -> Result<Result<String, String>, ControlError> {
        self.ask(client::version, Expect::Version, VERSION, |outcome| match outcome {
            Outcome::Version(text) => Ok(Ok(String::from_utf8_lossy(text).into_owned())),
            Outcome::Error { text, .. } if !wants_authentication(text) => Ok(Err(excerpt(text))),
            other => Err(words(&other)),
        })
    }

    /// Reads a key: a server that requires authentication may still report its version, and a proxy has no servers.
    fn probe(&mut self) -> Result<(), ControlError> {
        let get = |out: &mut Vec<u8>| client::get(out, PROBE);
        let read = self.ask(get, Expect::Values { keys: 1 }, "get", |outcome| match outcome {
            Outcome::Error { .. } => Err(words(&outcome)),
            _ => Ok(()),
        });
        read.map_err(ControlError::of_read)
    }

    fn is_resp(&self) -> bool {
        matches!(self.dialect, Dialect::Resp { .. })
    }

    /// Bytes that may be sent before the first answer is read.
    pub(super) fn ahead(&self) -> usize {
        self.ahead
    }

    /// The server's name in messages.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The server's own count of its items.
    ///
    /// Errors: it does not answer `stats` or `INFO`, so that the connection cannot be used further.
    pub fn holdings(&mut self) -> Result<Holdings, ControlError> {
        if self.is_resp() {
            return self.resp_holdings();
        }
        let stats = |out: &mut Vec<u8>| client::stats(out, b"");
        self.ask(stats, Expect::Stats, "stats", |outcome| {
            let Outcome::Stats(stats) = outcome else { return Ok(Holdings::default()) };
            let of = |name: &str| std::str::from_utf8(stats.get(name)?).ok()?.parse().ok();
            Ok(Holdings { items: of("curr_items"), bytes: of("bytes"), limit: of("limit_maxbytes") })
        })
    }

    /// The first key on the server that does not begin with `prefix`, if there is one; keys are listed in the server's
    /// order. The connection cannot be used further.
    ///
    /// Errors: the server does not list its keys, or has more than it lists within [`PATIENCE`].
    pub(super) fn foreign_key(&mut self, prefix: &[u8]) -> Result<Option<String>, ControlError> {
        let deadline = Instant::now() + PATIENCE;
        if self.is_resp() {
            return self.resp_foreign_key(prefix, deadline);
        }
        self.write(LIST, LIST_NAME)?;
        loop {
            let line = self.line(deadline)?;
            if let Some(text) = line.strip_prefix(b"key=") {
                let key = unescaped(text.split(|byte| *byte == b' ').next().unwrap_or_default());
                if !key.starts_with(prefix) {
                    return Ok(Some(excerpt(&key)));
                }
            } else if line == b"END" {
                return Ok(None);
            } else if line.starts_with(b"BUSY") && Instant::now() < deadline {
                // memcached looks for expired items at the moment.
                thread::sleep(BUSY);
                self.write(LIST, LIST_NAME)?;
            } else if line != b"OK" {
                let answer = excerpt(&line);
                return Err(self.unexpected(LIST_NAME, answer));
            }
        }
    }

    /// The next line, without its end.
    fn line(&mut self, deadline: Instant) -> Result<Vec<u8>, ControlError> {
        loop {
            let rest = &self.received[self.used..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]).to_vec();
                self.used += end + 1;
                return Ok(line);
            }
            self.receive(LIST_NAME, Some(deadline))?;
        }
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

    /// Adds `by` to a counter: its new number, or `None` if it does not exist.
    pub(super) fn count(&mut self, key: &[u8], by: u64) -> Result<Option<u64>, ControlError> {
        if self.is_resp() {
            return self.resp_count(key, by);
        }
        let incr = |out: &mut Vec<u8>| client::incr(out, key, by, Reply::Wanted);
        self.ask(incr, Expect::Counter, "incr", |outcome| match outcome {
            Outcome::Counter(number) => Ok(Some(number)),
            Outcome::NotFound => Ok(None),
            other => Err(words(&other)),
        })
    }

    /// Stores an item that never expires.
    pub(super) fn store(&mut self, key: &[u8], value: &[u8]) -> Result<(), ControlError> {
        let mut out = Vec::new();
        self.append_set(&mut out, key, 0, value.len(), |out| out.extend_from_slice(value));
        self.write(&out, SET)?;
        self.stored()
    }

    /// Appends the request to store an item, whose value of `size` bytes `value` appends; answered by
    /// [`Control::stored`].
    pub(super) fn append_set(
        &self,
        out: &mut Vec<u8>,
        key: &[u8],
        expiry: i32,
        size: usize,
        value: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.is_resp() {
            return resp::append_set(out, key, expiry, size, value);
        }
        client::store_header(out, StoreVerb::Set, key, 0, expiry, size, Reply::Wanted);
        value(out);
        out.extend_from_slice(b"\r\n");
    }

    /// Reads the answer to one [`Control::append_set`]. Errors: the item was not stored.
    pub(super) fn stored(&mut self) -> Result<(), ControlError> {
        let stored = match self.is_resp() {
            true => self.resp_stored()?,
            false => self.read(None, Expect::Stored, SET, |outcome| match outcome {
                Outcome::Stored => Ok(()),
                other => Err(words(&other)),
            })?,
        };
        stored.map_err(|answer| ControlError::Refused { server: self.server.clone(), answer })
    }

    /// Deletes an item, if there is one.
    pub(super) fn delete(&mut self, key: &[u8]) -> Result<(), ControlError> {
        if self.is_resp() {
            return self.resp_delete(key);
        }
        let delete = |out: &mut Vec<u8>| client::delete(out, key, Reply::Wanted);
        self.ask(delete, Expect::Deleted, "delete", |outcome| match outcome {
            Outcome::Deleted | Outcome::NotFound => Ok(()),
            other => Err(words(&other)),
        })
    }

    /// Reads several items, and shows each that is there to `look`, with the place of its key among the sorted `keys`;
    /// `None` of a key that was not asked for.
    pub(super) fn get_many(
        &mut self,
        keys: &[&[u8]],
        mut look: impl FnMut(Option<usize>, &[u8]),
    ) -> Result<(), ControlError> {
        if self.is_resp() {
            return self.resp_get_many(keys, look);
        }
        let mut out = Vec::new();
        let count = client::get_many(&mut out, keys.iter().copied());
        self.write(&out, "get")?;
        let mut each = |values: Values<'_>| {
            values.iter().for_each(|value| look(keys.binary_search(&value.key).ok(), value.data));
        };
        self.read(None, Expect::Values { keys: count }, "get", |outcome| {
            if let Outcome::Values(values) = outcome {
                each(values);
            }
        })
    }

    /// Sends one request and interprets its answer; `look` returns `Err` with a description of an unexpected answer.
    fn ask<T>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>),
        expect: Expect,
        asked: &'static str,
        look: impl FnOnce(Outcome<'_>) -> Result<T, String>,
    ) -> Result<T, ControlError> {
        let deadline = self.request(write, asked)?;
        let found = self.read(Some(deadline), expect, asked, look)?;
        found.map_err(|answer| self.unexpected(asked, answer))
    }

    /// Sends one request; returns the deadline of its answer.
    fn request(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>),
        asked: &'static str,
    ) -> Result<Instant, ControlError> {
        let mut out = Vec::new();
        write(&mut out);
        self.write(&out, asked)?;
        Ok(Instant::now() + PATIENCE)
    }

    fn unexpected(&self, asked: &'static str, answer: String) -> ControlError {
        let (server, family) = (self.server.clone(), self.dialect.family());
        match family {
            _ if !wants_authentication(answer.as_bytes()) => {
                ControlError::Garbage { server, asked, answer, family }
            }
            Family::Memcached => ControlError::Authentication { server },
            Family::Redis => ControlError::NoLogin { server },
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], asked: &'static str) -> Result<(), ControlError> {
        // A stream with a layer of its own, such as TLS, may hold bytes back until it is flushed.
        let written = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        written.map_err(|source| self.failed(source, asked))
    }

    /// Reads one answer as `look` interprets it.
    fn read<T>(
        &mut self,
        deadline: Option<Instant>,
        expect: Expect,
        asked: &'static str,
        look: impl FnOnce(Outcome<'_>) -> T,
    ) -> Result<T, ControlError> {
        loop {
            match self.parser.parse(expect, &self.received[self.used..]) {
                Parse::Done { consumed, outcome } => {
                    let found = look(outcome);
                    self.used += consumed;
                    return Ok(found);
                }
                Parse::Malformed(_) => return Err(self.garbage(asked)),
                Parse::NeedMore { .. } => self.receive(asked, deadline)?,
            }
        }
    }

    /// Receives more bytes; an answer that trickles in ends at the deadline.
    fn receive(&mut self, asked: &'static str, deadline: Option<Instant>) -> Result<(), ControlError> {
        self.received.drain(..self.used);
        self.used = 0;
        let filled = self.received.len();
        self.received.resize(filled + 64 * 1024, 0);
        let got = self.stream.read(&mut self.received[filled..]);
        self.received.truncate(filled + *got.as_ref().unwrap_or(&0));
        let source: io::Error = match got {
            Ok(0) => io::ErrorKind::ConnectionReset.into(),
            Ok(_) if deadline.is_some_and(|deadline| Instant::now() > deadline) => {
                io::ErrorKind::TimedOut.into()
            }
            Ok(_) => return Ok(()),
            Err(source) if source.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(source) => source,
        };
        let error = self.failed(source, asked);
        // A greeting or a message before the close tells more than the close.
        let is_end = matches!(error, ControlError::Closed { .. } | ControlError::Silent { .. });
        Err(if is_end && Peer::of(&self.received).is_some() { self.garbage(asked) } else { error })
    }

    /// The error for received bytes that are no answer.
    fn garbage(&self, asked: &'static str) -> ControlError {
        let (server, received) = (self.server.clone(), &self.received[self.used..]);
        let family = self.dialect.family();
        match Stranger::of(received, asked).filter(|found| found.peer != family.peer()) {
            Some(found) => ControlError::Other { server, found, family },
            None => self.unexpected(asked, excerpt(received)),
        }
    }

    fn failed(&self, source: io::Error, asked: &'static str) -> ControlError {
        let (server, family) = (self.server.clone(), self.dialect.family());
        match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                ControlError::Silent { server, asked, family }
            }
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
                ControlError::Closed { server, asked, family }
            }
            _ => ControlError::Io { server, source },
        }
    }
}

/// Connects, with a limit on the peer's silence. A UDP address is connected over TCP.
///
/// Errors: the connection is refused, or not accepted in time.
pub fn stream(address: &Address) -> io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Tcp(address) | Address::Udp(address) => {
            let stream = TcpStream::connect_timeout(address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
    })
}

/// A key as `lru_crawler metadump` writes it: bytes other than letters, digits and `-._~` as `%` and two digits.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut key, mut rest) = (Vec::with_capacity(text.len()), text);
    while let [first, behind @ ..] = rest {
        let byte = match behind {
            [high, low, ..] if *first == b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                digit(*high).zip(digit(*low)).map(|(high, low)| (16 * high + low) as u8)
            }
            _ => None,
        };
        key.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    key
}

/// Whether the text of an error says so; memcached's is `unauthenticated`.
fn wants_authentication(text: &[u8]) -> bool {
    text.to_ascii_lowercase().windows(7).any(|word| word == b"authent")
}

/// An answer, as messages quote it.
fn words(outcome: &Outcome<'_>) -> String {
    match outcome {
        Outcome::Error { text, .. } => excerpt(text),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests;
