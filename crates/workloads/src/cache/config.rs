use std::sync::Arc;

use dist::{ItemSizes, Population, Rng, Size, mixed};
use rand::SeedableRng;
use replay::{Op, Replay};
use spec::workload::{self, Verify};
use units::Bytes;

use crate::cache::{Cluster, Dialect, Login, OnMiss, Placement, Protocol, Server, expiry};

/// Every parameter of the cache workload.
///
/// Shape: plain data; [`CacheConfig::check`] checks whether the parameters go together.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// The options. With `population`, `keys` is its number of items.
    pub options: workload::Cache,
    /// The items of a file that lists key size, value size and popularity of each; it replaces both sizes and the
    /// popularity.
    pub population: Option<Arc<Population>>,
    /// The requests of a trace. They replace data set, popularity, mix and expiry; `key_size` and `value_size` are those
    /// of keys and values whose length the trace does not tell.
    pub replay: Option<Arc<Replay>>,
    /// The speed of its replay, as a multiple of the recorded one; items expire sooner by this factor.
    pub replay_speed: f64,
    /// The user that each connection logs in as.
    pub login: Option<Login>,
    /// The servers and their shares of the keys.
    pub cluster: Cluster,
    /// The seed of keys, sizes and operations.
    pub seed: u64,
}

/// The seed of all sizes. They do not follow the load's seed: trials with different seeds share one data set, which
/// would otherwise have to be stored again for each.
const SIZES: u64 = 0x6974_656d_7321;

impl Default for CacheConfig {
    /// The default options by the classic commands, on memcached's port of this machine.
    fn default() -> CacheConfig {
        let server = Server { host: "127.0.0.1".into(), port: Server::DEFAULT_PORT };
        CacheConfig {
            options: workload::Cache { protocol: Protocol::Ascii, ..workload::Cache::default() },
            population: None,
            replay: None,
            replay_speed: 1.0,
            login: None,
            cluster: Cluster { servers: vec![server], placement: Placement::Replicated },
            seed: 1,
        }
    }
}

impl CacheConfig {
    /// Whether the load itself makes gets miss: items are deleted or expire, or were never all there.
    ///
    /// If false, a hit ratio under [`FILLED`](crate::cache::FILLED) in the window means that the server evicts items.
    pub fn causes_misses(&self) -> bool {
        use crate::cache::Operation as O;
        let options = &self.options;
        self.replay.is_some()
            || !options.expiry.is_never()
            || options.on_miss == OnMiss::Set
            || options.mix.any(|operation| matches!(operation, O::Delete | O::Insert))
    }

    /// Whether the load changes the server's items.
    pub fn writes(&self) -> bool {
        let mix_writes = match &self.replay {
            Some(replay) => {
                let header = replay.requests().header();
                header.count(Op::Get) < header.requests
            }
            None => self.options.mix.writes(),
        };
        mix_writes || self.options.on_miss == OnMiss::Set
    }

    /// Whether values are made checkable, and each received value is checked.
    pub fn verifies(&self) -> bool {
        self.options.verify.is_some_and(|verify| verify != Verify::None)
    }

    /// How to speak to the servers before the load.
    pub fn dialect(&self) -> Dialect {
        match self.options.protocol {
            Protocol::Resp => Dialect::Resp {
                login: self.login.clone(),
                cluster: self.cluster.placement == Placement::Cluster,
            },
            Protocol::Auto | Protocol::Ascii | Protocol::Meta => {
                Dialect::Memcached { login: self.login.clone() }
            }
        }
    }

    /// The sizes of keys and values; distributions without bounds of their own are clipped to a cache's limits.
    pub(super) fn sizes(&self) -> ItemSizes {
        match &self.population {
            Some(population) => ItemSizes::Listed(Arc::clone(population)),
            None => {
                let least = Bytes(self.shortest_key() as u64);
                ItemSizes::Drawn {
                    key: self.options.key_size.clone().or_clipped(least, Size::KEY_MAX),
                    value: self.options.value_size.clone().or_clipped(Bytes(0), Size::VALUE_MAX),
                    seed: SIZES,
                }
            }
        }
    }

    /// The expiry time that the fill gives to an item; the same each time.
    pub(super) fn expiry_of_fill(&self, item: u64) -> i32 {
        expiry::draw(&self.options.expiry, || Rng::seed_from_u64(mixed(item)))
    }

    /// Endpoints that the engine must have: each server's stream, then each server's UDP port, if used.
    pub fn endpoints(&self) -> usize {
        self.cluster.servers.len() * if self.options.udp { 2 } else { 1 }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    impl CacheConfig {
        /// The same with other options.
        pub(in crate::cache) fn with(mut self, change: impl FnOnce(&mut workload::Cache)) -> CacheConfig {
            change(&mut self.options);
            self
        }
    }

    /// Small: 100 keys of 8 B, values of 3 B.
    pub(in crate::cache) fn config(mix: &str) -> CacheConfig {
        let config = CacheConfig::default().with(|options| {
            options.keys = 100;
            options.key_prefix = "t:".parse().unwrap();
            options.key_size = "8".parse().unwrap();
            options.value_size = "3".parse().unwrap();
            options.mix = mix.parse().unwrap();
        });
        CacheConfig { seed: 9, ..config }
    }

    #[test]
    fn knows_whether_misses_are_its_own_doing() {
        let check = |config: CacheConfig, expect: bool| assert_eq!(config.causes_misses(), expect);
        check(config("get:90,set:10"), false);
        check(config("get:90,delete:10"), true);
        check(config("get:90,insert:10"), true);
        check(config("get:100").with(|options| options.expiry = "60".parse().unwrap()), true);
        check(config("get:100").with(|options| options.on_miss = OnMiss::Set), true);
    }
}
