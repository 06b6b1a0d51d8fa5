use dist::KeySampler;
use proto_memcache::client::udp;
use proto_memcache::limits;
use spec::workload;
use thiserror::Error;
use units::ParseError;

use crate::cache::{CacheConfig, OnMiss, Operation, Placement, Prefix, Protocol};

/// The most keys of one multi-get. Facebook's have 24 on average and 95 at the 95th percentile (Nishtala et al.,
/// *Scaling Memcache at Facebook*, NSDI 2013, §3.1).
pub const KEYS_PER_GET_MAX: u64 = 1_000;
/// The most keys of a multi-get whose misses are stored: which are missing is kept in 64 bits.
pub const KEYS_ON_MISS_MAX: u64 = 64;

/// The most keys of a multi-get to a Redis Cluster: which of them are missing, and which have moved, is kept in 32 bits
/// each.
pub const KEYS_IN_CLUSTER_MAX: u64 = 32;

/// A workload that cannot be.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ConfigError {
    #[error("{0}")]
    Parse(#[from] ParseError),
    #[error(
        "key size {given}: a key must hold the prefix '{prefix}' and {characters} more characters for {keys} keys; use --key-size {least} or more, fewer --keys, a shorter --key-prefix or --key-digits base62"
    )]
    KeyTooShort { given: String, prefix: Prefix, characters: usize, keys: u64, least: usize },
    #[error("key size {given}: memcached's protocol allows keys of at most {} bytes", limits::KEY_MAX)]
    KeyTooLong { given: String },
    #[error("a multi-get of {given} keys: there must be 1 to {limit}{why}; use fewer keys in mget()")]
    KeysPerGet { given: String, limit: u64, why: &'static str },
    #[error(
        "a multi-get of up to {keys} keys of up to {size} bytes does not fit into one datagram of {} bytes, and memcached takes requests of one only; use fewer keys in mget(), shorter keys, or TCP",
        udp::Header::DATAGRAM_MAX
    )]
    Datagram { keys: u64, size: u64 },
    #[error(
        "UDP, and the mix '{mix}' has neither get nor mget: only these go over UDP; add one to the mix, or use TCP"
    )]
    NothingOverUdp { mix: String },
    #[error(
        "inserts into the data set {name}: it says nothing of items that are not in it; leave insert out of the mix, or use --keys instead of a file"
    )]
    DataSetInserts { name: String },
    #[error(
        "the operation {operation}: servers of RESP have none such; leave it out of --mix, or measure a cache of memcached's protocol"
    )]
    NotOfResp { operation: String },
    #[error("UDP: servers of RESP take requests over TCP, TLS and Unix sockets only; leave out --udp")]
    UdpOfResp,
    #[error(
        "the placement partitions is Sphinx's, by memcached's protocol; leave out --protocol resp, or choose another --placement"
    )]
    PartitionsOfResp,
    #[error("the placement cluster is that of a Redis Cluster; add --protocol resp")]
    ClusterOfMemcached,
    #[error(
        "memcached's users have a name of one word; write USER:PASSWORD into the file of --auth-file, or add --protocol resp"
    )]
    LoginOfMemcached,
    #[error("UDP: datagrams belong to no connection that could log in; leave out --udp or --auth-file")]
    LoginOverUdp,
    #[error("{given} servers; there must be 1 to {}", crate::cache::Cluster::MAX)]
    Servers { given: usize },
    #[error("the server '{server}' is twice in the list; name each once")]
    ServerTwice { server: String },
}

impl CacheConfig {
    /// Checks that the parameters go together.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.replay.is_some() {
            self.cluster.check()?;
            return self.check_protocol();
        }
        let options = &self.options;
        KeySampler::new(options.popularity, options.keys)?;
        if self.population.is_some() && options.mix.any(|operation| matches!(operation, Operation::Insert)) {
            let name = options.data_set.clone().unwrap_or_default();
            return Err(ConfigError::DataSetInserts { name });
        }
        self.cluster.check()?;
        self.check_key_size()?;
        self.check_protocol()?;
        let operations = || options.mix.shares().iter().map(|share| &share.operation);
        operations().try_for_each(|operation| match operation {
            Operation::MultiGet(keys) => self.check_multi_get(keys),
            _ => Ok(()),
        })?;
        if options.udp
            && !operations().any(|operation| matches!(operation, Operation::Get | Operation::MultiGet(_)))
        {
            return Err(ConfigError::NothingOverUdp { mix: options.mix.to_string() });
        }
        Ok(())
    }

    fn check_protocol(&self) -> Result<(), ConfigError> {
        let (placement, options) = (self.cluster.placement, &self.options);
        if options.protocol == Protocol::Auto {
            // The target decides, which is not known yet.
            return Ok(());
        }
        if options.protocol != Protocol::Resp {
            return match (placement, &self.login) {
                (Placement::Cluster, _) => Err(ConfigError::ClusterOfMemcached),
                (_, Some(login)) if !login.is_of_memcached() => Err(ConfigError::LoginOfMemcached),
                (_, Some(_)) if options.udp => Err(ConfigError::LoginOverUdp),
                _ => Ok(()),
            };
        }
        let is_missing = |operation: &&Operation| {
            matches!(operation, Operation::Gets | Operation::Cas | Operation::Prepend)
        };
        let missing = options.mix.shares().iter().map(|share| &share.operation).find(is_missing);
        match missing {
            Some(operation) => Err(ConfigError::NotOfResp { operation: operation.to_string() }),
            None if options.udp => Err(ConfigError::UdpOfResp),
            None if placement == Placement::Partitions => Err(ConfigError::PartitionsOfResp),
            None => Ok(()),
        }
    }

    fn check_key_size(&self) -> Result<(), ConfigError> {
        let least = self.shortest_key();
        let workload::Cache { key_prefix: prefix, key_size, keys, .. } = &self.options;
        let (shortest, longest) = self.sizes().keys();
        // Short keys of a file are lengthened; a typed length that is too short is an error.
        if self.population.is_none() && (shortest.0 as usize) < least {
            return Err(ConfigError::KeyTooShort {
                given: key_size.to_string(),
                prefix: prefix.clone(),
                characters: least - prefix.as_bytes().len(),
                keys: *keys,
                least,
            });
        }
        if longest.0 as usize > limits::KEY_MAX {
            return Err(ConfigError::KeyTooLong { given: key_size.to_string() });
        }
        Ok(())
    }

    fn check_multi_get(&self, count: &dist::Size) -> Result<(), ConfigError> {
        let options = &self.options;
        let error = |limit, why| Err(ConfigError::KeysPerGet { given: count.to_string(), limit, why });
        let most = count.max().0;
        if count.min().0 == 0 || most > KEYS_PER_GET_MAX {
            return error(KEYS_PER_GET_MAX, "");
        }
        if most > options.keys {
            return error(options.keys, ", as each is another key of the data set");
        }
        if self.cluster.placement == Placement::Cluster && most > KEYS_IN_CLUSTER_MAX {
            return error(KEYS_IN_CLUSTER_MAX, " in a Redis Cluster");
        }
        if options.on_miss == OnMiss::Set && most > KEYS_ON_MISS_MAX {
            return error(KEYS_ON_MISS_MAX, " where the missing ones are stored");
        }
        if !options.udp {
            return Ok(());
        }
        let size = self.sizes().keys().1.0;
        // The bytes around each key, and around all: `get`, blanks and a line end, or `mg v k q` with its own and `mn`.
        let (each, all) = if options.protocol == Protocol::Meta { (11, 4) } else { (1, 5) };
        if udp::Header::SIZE as u64 + all + most * (each + size) > udp::Header::DATAGRAM_MAX as u64 {
            return Err(ConfigError::Datagram { keys: most, size });
        }
        Ok(())
    }

    /// The fewest characters that make all keys distinct, prefix included.
    pub(super) fn shortest_key(&self) -> usize {
        let options = &self.options;
        let prefix = options.key_prefix.as_bytes().len();
        if self.replay.is_some() {
            // Any number of 64 bits.
            return prefix + options.key_digits.count(u64::MAX);
        }
        // The digits of the largest number, and a letter before it if there are items of another kind.
        let digits = options.key_digits.count(options.keys.saturating_sub(1));
        let letter = usize::from(options.mix.any(|operation| operation.counts() || operation.grows()));
        prefix + letter + digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cluster;
    use crate::cache::config::tests::config;

    fn check(config: CacheConfig, expect: Option<&str>) {
        let got = config.check().err().map(|e| e.to_string());
        match expect {
            None => assert_eq!(got, None),
            Some(part) => assert!(got.as_ref().is_some_and(|e| e.contains(part)), "{got:?}"),
        }
    }

    #[test]
    fn keys_must_be_told_apart_and_be_legal() {
        let check = |keys, size: &str, prefix: &str, mix: &str, expect| {
            let config = config(mix).with(|options| {
                (options.keys, options.key_size) = (keys, size.parse().unwrap());
                options.key_prefix = prefix.parse().unwrap();
            });
            check(config, expect);
        };
        check(100_000, "30", "taillight:", "get:100", None);
        check(100_000, "15", "taillight:", "get:100", None);
        check(100_000, "14", "taillight:", "get:100", Some("--key-size 15 or more"));
        check(100_000, "15", "taillight:", "get:50,incr:50", Some("--key-size 16 or more"));
        check(100_000, "15", "taillight:", "get:50,append:50", Some("6 more characters"));
        check(1_000_000, "uniform:5..40", "taillight:", "get:100", Some("6 more characters"));
        // A distribution without bounds of its own is clipped to the possible sizes.
        check(1_000_000, "normal:20,10", "taillight:", "get:100", None);
        check(10, "251", "t", "get:100", Some("at most 250"));
        check(0, "30", "t", "get:100", Some("not between 1"));
        check(1, "2", "t", "get:100", None);
    }

    #[test]
    fn multi_gets_have_limits() {
        check(config("mget(100):100"), None);
        check(config("mget(101):100"), Some("1 to 100, as each is another key"));
        check(config("mget(uniform:0..5):100"), Some("there must be 1 to 1000;"));
        check(config("mget(1001):100").with(|options| options.keys = 5_000), Some("1 to 1000"));
        let on_miss = |mix| config(mix).with(|options| options.on_miss = OnMiss::Set);
        check(on_miss("mget(64):100"), None);
        check(on_miss("mget(65):100"), Some("1 to 64 where the missing ones are stored"));
    }

    #[test]
    fn redis_has_not_every_operation() {
        let resp = |mix: &str| config(mix).with(|options| options.protocol = Protocol::Resp);
        let at = |placement, config: CacheConfig| {
            let cluster = Cluster { placement, ..config.cluster.clone() };
            CacheConfig { cluster, ..config }
        };
        let all = "get:10,mget(3):10,gat:10,set:10,add:10,replace:10,append:10,delete:10,incr:5,decr:5,touch:5,insert:5";
        check(resp(all), None);
        for operation in ["gets", "cas", "prepend"] {
            check(
                resp(&format!("get:50,{operation}:50")),
                Some(&format!("operation {operation}: servers of RESP")),
            );
        }
        check(resp("get:100").with(|options| options.udp = true), Some("leave out --udp"));
        check(at(Placement::Partitions, resp("get:100")), Some("another --placement"));
        check(at(Placement::Cluster, config("get:100")), Some("add --protocol resp"));
        check(at(Placement::Cluster, resp("mget(32):100")), None);
        check(at(Placement::Cluster, resp("mget(33):100")), Some("1 to 32 in a Redis Cluster"));
    }

    #[test]
    fn logins_are_those_of_the_protocol() {
        let check = |login: &str, config: CacheConfig, expect| {
            check(CacheConfig { login: crate::cache::Login::read(login), ..config }, expect);
        };
        let resp = |mix: &str| config(mix).with(|options| options.protocol = Protocol::Resp);
        for login in ["me:secret", ":secret", "two words:secret"] {
            check(login, resp("get:100"), None);
        }
        check("me:two words", config("get:100"), None);
        check(":secret", config("get:100"), Some("write USER:PASSWORD"));
        check("two words:secret", config("get:100"), Some("a name of one word"));
        let udp = config("get:100").with(|options| options.udp = true);
        check("me:secret", udp, Some("leave out --udp or --auth-file"));
    }

    #[test]
    fn requests_over_udp_are_one_datagram() {
        let udp = |mix| config(mix).with(|options| options.udp = true);
        let meta = |mix| udp(mix).with(|options| options.protocol = Protocol::Meta);
        check(udp("get:50,set:50"), None);
        check(udp("set:100"), Some("neither get nor mget"));
        check(udp("mget(100):100"), None);
        check(
            udp("mget(100):100").with(|options| options.key_size = "14".parse().unwrap()),
            Some("one datagram of 1400"),
        );
        check(meta("mget(73):100"), None);
        check(meta("mget(74):100"), Some("up to 74 keys"));
        check(meta("get:100"), None);
    }
}
