//! Several servers: which holds which key.

mod hash;
mod ketama;
mod slots;

use std::fmt;
use std::str::FromStr;

use proto_memcache::partition;
use reactor::Address;
use spec::workload::Placement;
use units::ParseError;

use crate::cache::ConfigError;
use ketama::Continuum;
pub(super) use slots::Slots;

/// The servers of a cluster, and how keys are spread over them.
///
/// Bounds: 1 to [`Cluster::MAX`] servers, no two alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// In the order of the endpoints; `modulo` depends on it.
    pub servers: Vec<Server>,
    /// Where keys go.
    pub placement: Placement,
}

/// A server as clients name it, which decides where `ketama` puts keys: another name is another placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name or address as given, not resolved; the path of a Unix socket.
    pub host: String,
    /// Its TCP port; 0 for a Unix socket.
    pub port: u16,
}

impl Cluster {
    /// The most servers: a job keeps the index of its server in 16 bits, and UDP doubles the endpoints.
    pub const MAX: usize = 1 << 15;

    /// Whether each key lives on one server of several.
    pub fn is_sharded(&self) -> bool {
        self.placement == Placement::Cluster
            || self.servers.len() > 1 && self.placement != Placement::Replicated
    }

    /// Checks that there are servers, and no two the same.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(1..=Cluster::MAX).contains(&self.servers.len()) {
            return Err(ConfigError::Servers { given: self.servers.len() });
        }
        let mut names: Vec<String> = self.servers.iter().map(Server::to_string).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ConfigError::ServerTwice { server: pair[0].clone() }),
            None => Ok(()),
        }
    }
}

impl Server {
    /// memcached's port, the default.
    pub const DEFAULT_PORT: u16 = 11211;
}

impl From<&Address> for Server {
    /// By its numeric address, as the name is no longer known; the path of a Unix socket.
    fn from(address: &Address) -> Server {
        match address {
            Address::Tcp(address) | Address::Udp(address) => {
                Server { host: address.ip().to_string(), port: address.port() }
            }
            Address::Unix(path) => Server { host: path.display().to_string(), port: 0 },
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            0 => f.pad(&self.host),
            port if self.host.contains(':') => f.pad(&format!("[{}]:{port}", self.host)),
            port => f.pad(&format!("{}:{port}", self.host)),
        }
    }
}

impl FromStr for Server {
    type Err = ParseError;

    /// Reads `host`, `host:port`, `[::1]:port` and `/path/of/a/socket`.
    fn from_str(text: &str) -> Result<Server, ParseError> {
        let error = |problem: &str| ParseError {
            what: "server",
            given: text.into(),
            problem: problem.into(),
            hint: "write HOST:PORT, such as 10.0.0.5:11211, or the path of a Unix socket",
        };
        if text.starts_with('/') {
            return Ok(Server { host: text.into(), port: 0 });
        }
        let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(None) => return Err(error("the bracket is not closed")),
            Some(Some((host, rest))) => (host, rest.strip_prefix(':')),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            None => Server::DEFAULT_PORT,
            Some(port) => match port.parse() {
                Ok(0) | Err(_) => return Err(error("its port is not a number from 1 to 65535")),
                Ok(port) => port,
            },
        };
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '[' || c == ']') {
            return Err(error("it has no host name"));
        }
        Ok(Server { host: host.into(), port })
    }
}

/// Finds the server of a key.
#[derive(Debug)]
pub(super) struct Shards(Rule);

#[derive(Debug)]
enum Rule {
    /// Each server holds everything.
    All,
    Ketama(Continuum),
    Modulo(u32),
    Partitions(usize),
    Cluster(Slots),
}

impl Shards {
    pub(super) fn new(cluster: &Cluster) -> Shards {
        Shards(match cluster.placement {
            _ if !cluster.is_sharded() => Rule::All,
            Placement::Replicated => Rule::All,
            Placement::Ketama => Rule::Ketama(Continuum::new(&cluster.servers)),
            Placement::Modulo => Rule::Modulo(cluster.servers.len() as u32),
            Placement::Partitions => Rule::Partitions(cluster.servers.len()),
            Placement::Cluster => Rule::Cluster(Slots::default()),
        })
    }

    /// The only server that holds `key`; `None` if all do.
    ///
    /// Cost: an MD5 of the key, some 150 ns, or 1 ns for each of its bytes.
    #[inline]
    pub(super) fn of(&self, key: &[u8]) -> Option<usize> {
        match &self.0 {
            Rule::All => None,
            Rule::Ketama(continuum) => Some(continuum.server(hash::md5(key))),
            Rule::Modulo(servers) => Some((hash::one_at_a_time(key) % servers) as usize),
            Rule::Partitions(threads) => Some(partition::of(key, *threads)),
            Rule::Cluster(slots) => Some(slots.of(key)),
        }
    }

    /// The slots of a Redis Cluster.
    pub(super) fn slots(&self) -> Option<&Slots> {
        match &self.0 {
            Rule::Cluster(slots) => Some(slots),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
