//! The cache workload against real memcacheds: every operation by both protocols, clusters, UDP, fills and their
//! verification. Requests go one after the other; the engine has tests of its own.

pub(crate) mod client;
mod fill;
mod operations;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use launch::Process;
use launch::memcached::{self, Options};
use reactor::Address;
use units::Bytes;
use workloads::cache::{
    Cache, CacheConfig, Cluster, Control, DataSet, Dialect, FillPolicy, Items, Placement, Preparation, Seat,
    Server, prepare,
};

/// Turns a hang into a failure; it is not an expected duration.
const PATIENCE: Duration = Duration::from_secs(60);

/// Servers that end with the test.
struct Servers {
    _processes: Vec<Process>,
    addresses: Vec<SocketAddr>,
}

impl Servers {
    /// Starts `count` memcacheds; `None`, with a printed reason, if unavailable.
    fn start(count: usize) -> Option<Servers> {
        Servers::start_with(count, false)
    }

    /// The same, each with a UDP port of the same number.
    fn with_udp(count: usize) -> Option<Servers> {
        Servers::start_with(count, true)
    }

    fn start_with(count: usize, udp: bool) -> Option<Servers> {
        let memcached = match memcached::find() {
            Ok(memcached) => memcached,
            Err(error) => {
                println!("skipped: {error}");
                return None;
            }
        };
        let mut servers = Servers { _processes: Vec::new(), addresses: Vec::new() };
        for _ in 0..count {
            let mut options = Options {
                threads: 1,
                memory: Bytes(64 << 20),
                connections: 100,
                cpus: None,
                extra: Vec::new(),
            };
            let (process, address) = loop {
                if udp {
                    // The port is free for TCP; if another program has it for UDP, the next port is tried.
                    let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
                    options.extra = ["-U".into(), free.to_string(), "-p".into(), free.to_string()].into();
                    let address = SocketAddr::from(([127, 0, 0, 1], free));
                    let mut process = Process::spawn(memcached.spec(free, &options)).unwrap();
                    if process.await_port(address, PATIENCE).is_ok() {
                        break (process, address);
                    }
                } else {
                    break memcached.start(&options, PATIENCE).unwrap();
                }
            };
            servers._processes.push(process);
            servers.addresses.push(address);
        }
        Some(servers)
    }

    fn cluster(&self, placement: Placement) -> Cluster {
        let server = |address: &SocketAddr| Server { host: address.ip().to_string(), port: address.port() };
        Cluster { servers: self.addresses.iter().map(server).collect(), placement }
    }

    fn control(&self, server: usize) -> Control {
        Control::connect(&Address::Tcp(self.addresses[server]), &Dialect::Memcached { login: None })
            .unwrap()
            .0
    }

    fn prepare(&self, config: &CacheConfig, policy: FillPolicy) -> (Arc<Items>, DataSet) {
        let items = Arc::new(Items::new(config));
        let how = Preparation {
            connect: &|server| {
                Ok(Control::connect(
                    &Address::Tcp(self.addresses[server]),
                    &Dialect::Memcached { login: None },
                )?
                .0)
            },
            threads: 2,
            policy,
            // Tests fill a server with several data sets.
            agreed: true,
            seed: 1,
            progress: &|_| {},
        };
        let data_set = prepare(config, &items, &how).unwrap();
        (items, data_set)
    }

    /// Fills the servers and makes a thread's workload.
    fn workload(&self, config: &CacheConfig) -> Cache {
        let (items, data_set) = self.prepare(config, FillPolicy::Auto);
        assert!(data_set.is_complete(), "{data_set:?}");
        Cache::new(config, items, Seat::ONLY).unwrap()
    }
}

/// Small: 500 keys of 12 to 40 B, values of 1 to 2 000 B.
pub(crate) fn config(cluster: Cluster, mix: &str) -> CacheConfig {
    with(CacheConfig { cluster, ..CacheConfig::default() }, |options| {
        options.keys = 500;
        options.key_prefix = "t:".parse().unwrap();
        options.key_size = "uniform:12..40".parse().unwrap();
        options.value_size = "uniform:1..2000".parse().unwrap();
        options.mix = mix.parse().unwrap();
    })
}

/// The same with other options.
pub(crate) fn with(mut config: CacheConfig, change: impl FnOnce(&mut spec::workload::Cache)) -> CacheConfig {
    change(&mut config.options);
    config
}
