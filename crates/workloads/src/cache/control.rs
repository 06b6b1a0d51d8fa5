use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use dist::{KeySampler, Popularity, Purpose, Streams};
use proto_memcache::client::{self, Expect, Outcome, Parse, ResponseParser};
use thiserror::Error;

use crate::cache::Items;

/// A server that is asked one thing outside a measurement must answer within this time.
const PATIENCE: Duration = Duration::from_secs(5);
/// Requests sent before the first answer is read: 64 of 200 B fit into any socket buffer.
const BATCH: u64 = 64;
/// Keys asked for in one `get` while verifying.
const KEYS_PER_GET: u64 = 50;
/// Keys that are looked at to verify a data set: all of up to this many, else this many drawn at random.
/// 20 000 leave a standard error of 0.02 % for a hit ratio of 99.9 %.
const VERIFIED: u64 = 20_000;
/// The least hit ratio of a data set that counts as filled.
pub const FILLED: f64 = 0.999;

/// What went wrong while a server was prepared.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ControlError {
    #[error("cannot connect to {server}: {source}; start the server there, or give another HOST:PORT")]
    Connect { server: SocketAddr, source: io::Error },
    #[error("{server} did not answer '{asked}' within {} s; is it a memcached-compatible server, and not overloaded?", PATIENCE.as_secs())]
    Silent { server: SocketAddr, asked: &'static str },
    #[error(
        "{server} closed the connection when asked for '{asked}'; is it a memcached-compatible server with a free connection?"
    )]
    Closed { server: SocketAddr, asked: &'static str },
    #[error(
        "{server} wants authentication, which the load generator does not do; start it without -S and -Y, or measure a copy of it"
    )]
    Authentication { server: SocketAddr },
    #[error("{server} answered '{asked}' with {answer}; is it a memcached-compatible server?")]
    Garbage { server: SocketAddr, asked: &'static str, answer: String },
    #[error("{server} refused to store: {answer}; give it more memory, or use fewer or smaller items")]
    Refused { server: SocketAddr, answer: String },
    #[error("the connection to {server} failed: {source}")]
    Io { server: SocketAddr, source: io::Error },
}

/// A connection for what is asked of a server outside the measurement; it blocks.
pub struct Control {
    server: SocketAddr,
    stream: TcpStream,
    parser: ResponseParser,
    received: Vec<u8>,
    /// How much of `received` is used up.
    used: usize,
}

/// What is known of the data set in the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSet {
    /// Keys that were looked at.
    pub looked_at: u64,
    /// Share of them that were there with the right length, 0 to 1.
    pub hit_ratio: f64,
    /// Whether it was filled just now.
    pub filled_now: bool,
}

impl DataSet {
    /// Whether the server holds the data set.
    pub fn is_complete(&self) -> bool {
        self.hit_ratio >= FILLED
    }
}

/// When the data set is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillPolicy {
    /// Where it is not there yet.
    Auto,
    /// In any case.
    Always,
    /// Not at all; whatever is there is measured.
    Never,
}

impl Control {
    /// Connects, and makes sure that a memcached-compatible server answers.
    ///
    /// Returns the version that the server says it has.
    pub fn connect(server: SocketAddr) -> Result<(Control, String), ControlError> {
        let stream = TcpStream::connect_timeout(&server, PATIENCE).map_err(|source| match source.kind() {
            // Accepted and ended before it was looked at.
            io::ErrorKind::ConnectionReset => ControlError::Closed { server, asked: "version" },
            _ => ControlError::Connect { server, source },
        })?;
        let io_error = |source| ControlError::Io { server, source };
        stream.set_nodelay(true).map_err(io_error)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(io_error)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(io_error)?;
        let parser = ResponseParser::with_max_value(dist::Size::MAX.0 as usize);
        let mut control = Control { server, stream, parser, received: Vec::new(), used: 0 };
        let mut out = Vec::new();
        client::version(&mut out);
        control.write(&out, "version")?;
        let mut version = String::new();
        let mut refusal = None;
        control.read(Expect::Version, "version", |outcome| match outcome {
            Outcome::Version(text) => version = String::from_utf8_lossy(text).into_owned(),
            other => refusal = Some(words(&other)),
        })?;
        match refusal {
            None => {}
            Some(text) if text.contains("unauthenticated") => {
                return Err(ControlError::Authentication { server });
            }
            Some(answer) => return Err(ControlError::Garbage { server, asked: "version", answer }),
        }
        // A server that wants authentication may still tell its version; a read of a key shows it.
        let mut out = Vec::new();
        client::get(&mut out, b"taillight:probe");
        control.write(&out, "get")?;
        let mut refusal = None;
        control.read(Expect::Values { keys: 1 }, "get", |outcome| {
            if let Outcome::Error { .. } = outcome {
                refusal = Some(words(&outcome));
            }
        })?;
        match refusal {
            None => Ok((control, version)),
            Some(text) if text.contains("unauthenticated") => Err(ControlError::Authentication { server }),
            Some(answer) => Err(ControlError::Garbage { server, asked: "get", answer }),
        }
    }

    /// Stores the whole data set, telling `progress` how many items are stored.
    pub fn fill(&mut self, items: &Items, mut progress: impl FnMut(u64)) -> Result<(), ControlError> {
        let server = self.server;
        let (mut out, mut key) = (Vec::new(), Vec::new());
        for first in (0..items.keys()).step_by(BATCH as usize) {
            let last = (first + BATCH).min(items.keys());
            out.clear();
            for n in first..last {
                key.clear();
                items.append_key(n, &mut key);
                client::set(&mut out, &key, 0, 0, items.value(n));
            }
            self.write(&out, "set")?;
            for _ in first..last {
                let mut refused = None;
                self.read(Expect::Stored, "set", |outcome| {
                    if !matches!(outcome, Outcome::Stored) {
                        refused = Some(words(&outcome));
                    }
                })?;
                if let Some(answer) = refused {
                    return Err(ControlError::Refused { server, answer });
                }
            }
            progress(last);
        }
        Ok(())
    }

    /// Looks whether the server holds the data set: all of it where it is small, a sample where it is large.
    pub fn verify(&mut self, items: &Items, seed: u64) -> Result<DataSet, ControlError> {
        let sampled = items.keys() > VERIFIED;
        let looked_at = items.keys().min(VERIFIED);
        let mut rng = Streams::new(seed).stream(Purpose::Other(1), 0);
        let mut keys =
            KeySampler::new(Popularity::Uniform, items.keys()).expect("the configuration was checked");
        let mut good = 0u64;
        let (mut out, mut batch) = (Vec::new(), Vec::new());
        for first in (0..looked_at).step_by(KEYS_PER_GET as usize) {
            batch.clear();
            for n in first..(first + KEYS_PER_GET).min(looked_at) {
                let n = if sampled { keys.sample(&mut rng, items.keys()) } else { n };
                let mut key = Vec::new();
                items.append_key(n, &mut key);
                batch.push((key, items.value_size(n)));
            }
            // A key drawn twice would be answered twice, or once: ask for it once.
            batch.sort_unstable();
            let drawn = batch.len() as u64;
            batch.dedup();
            out.clear();
            let asked = client::get_many(&mut out, batch.iter().map(|(key, _)| key.as_slice()));
            self.write(&out, "get")?;
            let mut found = 0;
            self.read(Expect::Values { keys: asked }, "get", |outcome| {
                if let Outcome::Values(values) = outcome {
                    let is_right = |value: &client::Value<'_>| {
                        let known = batch.binary_search_by(|(key, _)| key.as_slice().cmp(value.key));
                        known.is_ok_and(|at| batch[at].1 == value.data.len())
                    };
                    found = values.iter().filter(is_right).count() as u64;
                }
            })?;
            good += found + if found == batch.len() as u64 { drawn - found } else { 0 };
        }
        Ok(DataSet { looked_at, hit_ratio: good as f64 / looked_at as f64, filled_now: false })
    }

    fn write(&mut self, bytes: &[u8], asked: &'static str) -> Result<(), ControlError> {
        self.stream.write_all(bytes).map_err(|source| self.failed(source, asked))
    }

    /// Reads one answer and shows it to `look`.
    fn read(
        &mut self,
        expect: Expect,
        asked: &'static str,
        look: impl FnOnce(Outcome<'_>),
    ) -> Result<(), ControlError> {
        let server = self.server;
        loop {
            match self.parser.parse(expect, &self.received[self.used..]) {
                Parse::Done { consumed, outcome } => {
                    look(outcome);
                    self.used += consumed;
                    return Ok(());
                }
                Parse::Malformed(reason) => {
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
                Ok(0) => return Err(ControlError::Closed { server, asked }),
                Ok(_) => {}
                Err(source) => return Err(self.failed(source, asked)),
            }
        }
    }

    fn failed(&self, source: io::Error, asked: &'static str) -> ControlError {
        let server = self.server;
        match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ControlError::Silent { server, asked },
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
                ControlError::Closed { server, asked }
            }
            _ => ControlError::Io { server, source },
        }
    }
}

fn words(outcome: &Outcome<'_>) -> String {
    match outcome {
        Outcome::Error { text, .. } => format!("'{}'", String::from_utf8_lossy(text)),
        other => format!("{other:?}"),
    }
}

/// Sees to it that the server holds the data set, as `policy` says.
///
/// Never removes anything: keys carry a prefix of their own, and nothing is flushed. A data set that does
/// not fit is no error here; the trial is judged by the hit ratio returned.
pub fn prepare(
    control: &mut Control,
    items: &Items,
    policy: FillPolicy,
    seed: u64,
    mut progress: impl FnMut(u64),
) -> Result<DataSet, ControlError> {
    if policy != FillPolicy::Always {
        let found = control.verify(items, seed)?;
        if policy == FillPolicy::Never || found.is_complete() {
            return Ok(found);
        }
    }
    control.fill(items, &mut progress)?;
    let filled = control.verify(items, seed)?;
    Ok(DataSet { filled_now: true, ..filled })
}
