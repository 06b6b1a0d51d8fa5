use std::sync::Arc;

use dist::{ItemSizes, Popularity, Population, Rng, Size, mixed};
use rand::SeedableRng;
use replay::{Op, Replay};
use units::Bytes;

use crate::cache::{
    Cluster, Dialect, Digits, Expiry, Login, Mix, OnMiss, Placement, Prefix, Protocol, Server, expiry,
};

/// Every parameter of the cache workload.
///
/// Shape: plain data; [`CacheConfig::check`] checks whether the parameters go together.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// Keys in the data set.
    pub keys: u64,
    /// The prefix of every key.
    pub key_prefix: Prefix,
    /// The format of a key's number.
    pub key_digits: Digits,
    /// Length of a key with its prefix; drawn once per key, and no less than the prefix and the key's number need.
    /// Units: bytes.
    pub key_size: Size,
    /// Length of a value; drawn once per key. Units: bytes.
    pub value_size: Size,
    /// A file that lists key size, value size and popularity of each item; it replaces `keys`, which is its number of
    /// items, both sizes and `popularity`.
    pub data_set: Option<Listed>,
    /// How often each key is requested.
    pub popularity: Popularity,
    /// The requests of a trace. They replace data set, popularity, mix and expiry; `key_size` and `value_size` are those
    /// of keys and values whose length the trace does not tell.
    pub replay: Option<Arc<Replay>>,
    /// How many times as fast as it was recorded it is replayed, so that its items expire as many times as soon.
    pub replay_speed: f64,
    /// The shares of the operations.
    pub mix: Mix,
    /// How the operations are written.
    pub protocol: Protocol,
    /// The user that each connection logs in as, by RESP.
    pub login: Option<Login>,
    /// The expiry of stored items.
    pub expiry: Expiry,
    /// The reaction to a miss of a get.
    pub on_miss: OnMiss,
    /// Whether values are made checkable, and each received value is checked.
    pub verify: bool,
    /// Whether `get` and `mget` go over UDP; everything else stays on streams, as in production.
    pub udp: bool,
    /// The servers and their shares of the keys.
    pub cluster: Cluster,
    /// The seed of keys, sizes and operations.
    pub seed: u64,
}

/// The seed of all sizes. They do not follow the load's seed: trials with different seeds share one data set, which
/// would otherwise have to be stored again for each.
const SIZES: u64 = 0x6974_656d_7321;

impl Default for CacheConfig {
    /// The Memcached study of IISWC'17, made smaller: 30 B keys and 200 B values (§III-B), gets only (§III-C), on memcached's
    /// port of this machine. The paper has 6.4 million items.
    fn default() -> CacheConfig {
        let size = |bytes| Size::fixed(Bytes(bytes)).expect("it is under the limit");
        CacheConfig {
            keys: 100_000,
            key_prefix: Prefix::default(),
            key_digits: Digits::default(),
            key_size: size(30),
            value_size: size(200),
            data_set: None,
            popularity: Popularity::Uniform,
            replay: None,
            replay_speed: 1.0,
            mix: Mix::default(),
            protocol: Protocol::Ascii,
            login: None,
            expiry: Expiry::never(),
            on_miss: OnMiss::Nothing,
            verify: false,
            udp: false,
            cluster: Cluster::single(Server { host: "127.0.0.1".into(), port: Server::DEFAULT_PORT }),
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
        self.replay.is_some()
            || !self.expiry.is_never()
            || self.on_miss == OnMiss::Set
            || self.mix.any(|operation| matches!(operation, O::Delete | O::Insert))
    }

    /// Whether the load changes the server's items.
    pub fn writes(&self) -> bool {
        let mix_writes = match &self.replay {
            Some(replay) => {
                let header = replay.requests().header();
                header.count(Op::Get) < header.requests
            }
            None => self.mix.writes(),
        };
        mix_writes || self.on_miss == OnMiss::Set
    }

    /// How to speak to the servers before the load.
    pub fn dialect(&self) -> Dialect {
        match self.protocol {
            Protocol::Resp => Dialect::Resp {
                login: self.login.clone(),
                cluster: self.cluster.placement == Placement::Cluster,
            },
            Protocol::Auto | Protocol::Ascii | Protocol::Meta => Dialect::Memcached,
        }
    }

    /// The sizes of keys and values; distributions without bounds of their own are clipped to a cache's limits.
    pub(super) fn sizes(&self) -> ItemSizes {
        match &self.data_set {
            Some(listed) => ItemSizes::Listed(Arc::clone(&listed.population)),
            None => {
                let least = Bytes(self.shortest_key() as u64);
                ItemSizes::Drawn {
                    key: self.key_size.clone().or_clipped(least, Size::KEY_MAX),
                    value: self.value_size.clone().or_clipped(Bytes(0), Size::VALUE_MAX),
                    seed: SIZES,
                }
            }
        }
    }

    /// The expiry time that the fill gives to an item; the same each time.
    pub(super) fn expiry_of_fill(&self, item: u64) -> i32 {
        expiry::draw(&self.expiry, || Rng::seed_from_u64(mixed(item)))
    }

    /// Endpoints that the engine must have: each server's stream, then each server's UDP port, if used.
    pub fn endpoints(&self) -> usize {
        self.cluster.servers.len() * if self.udp { 2 } else { 1 }
    }
}

/// A data set from a file, or one included with Taillight.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The file's name, or the name of the data set.
    pub name: String,
    /// The items.
    pub population: Arc<Population>,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Small: 100 keys of 8 B, values of 3 B.
    pub(in crate::cache) fn config(mix: &str) -> CacheConfig {
        CacheConfig {
            keys: 100,
            key_prefix: "t:".parse().unwrap(),
            key_digits: Digits::Decimal,
            key_size: "8".parse().unwrap(),
            value_size: "3".parse().unwrap(),
            mix: mix.parse().unwrap(),
            seed: 9,
            ..CacheConfig::default()
        }
    }

    #[test]
    fn knows_whether_misses_are_its_own_doing() {
        let check = |config: CacheConfig, expect: bool| assert_eq!(config.causes_misses(), expect);
        check(config("get:90,set:10"), false);
        check(config("get:90,delete:10"), true);
        check(config("get:90,insert:10"), true);
        check(CacheConfig { expiry: "60".parse().unwrap(), ..config("get:100") }, true);
        check(CacheConfig { on_miss: OnMiss::Set, ..config("get:100") }, true);
    }
}
