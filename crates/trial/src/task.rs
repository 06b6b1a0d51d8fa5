//! Description of one trial.

use anyhow::Result;
use proto_http::Url;
use reactor::Address;
use results::Found;
use spec::Spec;
use units::ParseError;
use workloads::cache::{Seat, Server};

use crate::config::urls;
use crate::tls::{self, TlsClient};

/// Description of one trial.
#[derive(Clone)]
pub struct Task {
    /// The measurement; its load is a rate, a trace or a closed loop.
    pub spec: Spec,
    /// Addresses of the servers: one, or all of a cluster.
    pub addresses: Vec<Address>,
    /// Names of the servers, for caches.
    pub names: Vec<Server>,
    /// URLs of the servers, for web servers.
    pub urls: Vec<Url>,
    /// Number I of N generators that share one load.
    pub share: (u32, u32),
    /// Whether the start time is read from standard input.
    pub start_on_stdin: bool,
    /// Whether points are written to standard output during the run.
    pub live: bool,
    /// Whether the kernel stamps some of the connections.
    pub stamps: bool,
    /// Process ids of the servers, if known and on this machine: their processor time is not foreign load.
    pub server_pids: Vec<u32>,
    /// Whether the server also has processes on other machines: their activity is requested on standard output after
    /// the window, and read from standard input.
    pub server_elsewhere: bool,
}

impl Task {
    /// The whole load of `spec`, from this process alone, on the servers of these names, each with its address.
    ///
    /// Errors: a name of a web server that is not a URL, or of a cache that is not valid.
    pub fn of(spec: Spec, servers: &[&str], addresses: Vec<Address>) -> Result<Task> {
        let name = |one: &str| one.strip_prefix(spec::UNIX).unwrap_or(one).parse();
        let (names, urls) = match spec.workload.is_http() {
            true => (Vec::new(), urls(servers)?),
            false => {
                (servers.iter().copied().map(name).collect::<Result<Vec<Server>, ParseError>>()?, Vec::new())
            }
        };
        Ok(Task {
            spec,
            addresses,
            names,
            urls,
            share: (0, 1),
            start_on_stdin: false,
            live: false,
            stamps: false,
            server_pids: Vec::new(),
            server_elsewhere: false,
        })
    }

    /// Names of the servers: consistent hashing places keys by them, and certificates must match them.
    pub(crate) fn servers(&self) -> Vec<String> {
        let called = |(address, name): (&Address, &Server)| match address {
            Address::Unix(_) => address.to_string(),
            Address::Tcp(_) | Address::Udp(_) => name.to_string(),
        };
        match self.spec.workload.is_http() {
            true => self.urls.iter().map(ToString::to_string).collect(),
            false => self.addresses.iter().zip(&self.names).map(called).collect(),
        }
    }

    /// Facts known before the first request, in addition to the specification and to the facts of the workload.
    pub(crate) fn found(&self, io_reason: String) -> Found {
        let source = |(name, source): (&str, &str)| (name.to_owned(), source.to_owned());
        Found {
            servers: self.servers(),
            io_reason,
            sources: self.spec.sources().into_iter().map(source).collect(),
            ..Found::default()
        }
    }

    /// TLS settings of the connections, if encrypted.
    pub(crate) fn tls(&self) -> Result<Option<TlsClient>> {
        match self.urls.first() {
            None => tls::client(&self.spec.generator.tls, &self.names[0].host, false, &[]),
            Some(url) => {
                tls::check(&self.spec.generator.tls, &self.urls)?;
                tls::client(&self.spec.generator.tls, &url.host, url.https, self.spec.workload.alpn())
            }
        }
    }

    /// Position of a thread of this process among the threads of all machines.
    pub(crate) fn seat(&self, thread: u32) -> Seat {
        let (number, of) = self.share;
        let threads = self.spec.generator.threads();
        Seat { thread: number * threads + thread, threads: of * threads }
    }
}

/// Reads `I/N`: number I, from 0, of N generators.
pub fn parse_share(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    parts.filter(|&(i, n): &(u32, u32)| i < n).ok_or_else(|| "write I/N with I below N, such as 0/2".into())
}
