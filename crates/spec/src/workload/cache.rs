use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Digits, Expiry, Facts, Mix, OwnFile, Prefix, Replay, Verify};
use crate::defaults::default_options;
use crate::text::{number, words};
use crate::{Popularity, Preset, Scaling, Size};

/// The cache workload: requests to Sphinx, memcached, Redis, Valkey and other servers of their protocols.
///
/// The default is the Memcached study of IISWC'17, made smaller: 30 B keys and 200 B values (§III-B), gets only (§III-C). The
/// paper has 6.4 million items.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "Cache workload")]
#[serde(default, rename_all = "kebab-case")]
pub struct Cache {
    /// A published load: etc, ycsb-a to ycsb-d, ycsb-f, twitter, memloader, iiswc17, ancs19-read, ancs19-update. It
    /// sets the options that taillight explain cache lists; options on the command line override it.
    #[arg(long, value_name = "NAME")]
    #[schemars(extend("x-source" = "ours, because no published load is assumed; each value of a preset names its source (taillight explain cache)"))]
    pub preset: Option<Preset>,
    /// Keys in the data set: 100000, 300k, 6.4M.
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = |text: &str| units::count::<u64>(text, 0..=u64::MAX))]
    #[serde(deserialize_with = "number::deserialize")]
    #[schemars(extend("x-source" = "ours, because they are stored in half a second and fit any machine; IISWC'17 §III-B has 6.4 million"))]
    pub keys: u64,
    /// Length of a key with its prefix, in bytes: 30, uniform:20..40, gev:…, etc-key; see taillight explain cache.
    #[arg(long, default_value = "30", value_name = "SIZE")]
    #[schemars(extend("x-source" = "IISWC'17 §III-B: 30 B, as ANCS'19 §IV-B"))]
    pub key_size: Size,
    /// Length of a value in bytes: 200, 4KiB, uniform:1..1024, etc-value; see taillight explain cache.
    #[arg(long, default_value = "200", value_name = "SIZE")]
    #[schemars(extend("x-source" = "IISWC'17 §III-B: 200 B, as ANCS'19 §IV-B"))]
    pub value_size: Size,
    /// Items from a file instead of --keys, --key-size, --value-size and --popularity: CSV with the header
    /// key_size,value_size,popularity; or twitter, which comes with this program.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keys", "key_size", "value_size", "popularity"])]
    #[schemars(extend("x-source" = "ours, because keys and sizes are drawn from laws unless a file lists them"))]
    pub data_set: Option<String>,
    /// Copies of the data set, made on the fly without memory: 10x, or 30x,tail:0.915.
    #[arg(long, default_value = "1x", value_name = "COPIES", requires = "data_set")]
    #[schemars(extend("x-source" = "ours, because a data set is taken as it is unless copies are asked for"))]
    pub scale: Scaling,
    /// Shares of the operations in per cent, such as get:80,mget(10):5,set:10,delete:5.
    #[arg(long, default_value_t = Mix::default(), value_name = "MIX")]
    #[schemars(extend("x-source" = "IISWC'17 §III-C: GET requests only, which are over 95 % of those in production"))]
    pub mix: Mix,
    /// How operations are written: ascii (get, set) or meta (mg, ms), both of memcached; resp (GET, SET), of Redis,
    /// Valkey, KeyDB and Dragonfly; or auto, which is resp for a target that says so, such as redis, and else ascii.
    #[arg(long, default_value_t = Protocol::default(), value_name = "PROTOCOL")]
    #[schemars(extend("x-source" = "ours, because a target knows its protocol, and every version of memcached and every client has the classic commands"))]
    pub protocol: Protocol,
    /// File with the user and the password of a server that wants a login, in a line USER:PASSWORD: of RESP, where
    /// :PASSWORD is the default user, or of memcached's text protocol (-Y). Each machine that generates load reads its own.
    #[arg(long, value_name = "FILE")]
    #[schemars(extend("x-source" = "ours, because a password on the command line can be read by every user of the machine"))]
    pub auth_file: Option<PathBuf>,
    /// Send get and mget over UDP, to the same ports; everything else stays on TCP, as in production.
    #[arg(long)]
    #[schemars(extend("x-source" = "ISPASS'16 §VI-C: TCP connections"))]
    pub udp: bool,
    /// Action after a miss: nothing, or set (read-through: the item is stored at once).
    #[arg(long, default_value_t = OnMiss::default(), value_name = "WHAT")]
    #[schemars(extend("x-source" = "ours, because the data set is stored before the window, so that a miss is to be seen and not repaired"))]
    pub on_miss: OnMiss,
    /// Expiry time of stored items, in seconds: 0 (never), 60, or a distribution such as uniform:30..90.
    #[arg(long, default_value_t = Expiry::never(), value_name = "SECONDS")]
    #[schemars(extend("x-source" = "memcached's protocol.txt, Expiration times: 0 is never"))]
    pub expiry: Expiry,
    /// How several servers divide the keys: replicated (every server has all: writes to all, reads to one), ketama or
    /// modulo (shards, as libmemcached places keys); partitions, for one Sphinx with --partition-ports: each key at the
    /// thread that owns it, with the connections divided among the threads; or cluster, for the nodes of a Redis
    /// Cluster, one of which is the target: they tell which has which keys.
    #[arg(long, default_value_t = Placement::default(), value_name = "PLACEMENT")]
    #[schemars(extend("x-source" = "ours, because it asks nothing of the clients' hashing; ISPASS'16 §IV-C.1 has replicas and shards"))]
    pub placement: Placement,
    /// The prefix of every key, so that a server's own items are never touched.
    #[arg(long, default_value_t = Prefix::default(), value_name = "TEXT")]
    #[schemars(extend("x-source" = "ours, because no item of a server's own may be touched; its 10 B are part of the key's length"))]
    pub key_prefix: Prefix,
    /// How the number of a key is written after the prefix: decimal, or base62, which distinguishes more items in short
    /// keys.
    #[arg(long, default_value_t = Digits::default(), value_name = "DIGITS")]
    #[schemars(extend("x-source" = "ours, because decimal keys can be read in a capture; IISWC'17 §IV-C has keys from 4 B on, which need more"))]
    pub key_digits: Digits,
    /// When to store the data set: auto (if it is not stored yet), always or never. Servers are never flushed.
    #[arg(long, default_value_t = Fill::default(), value_name = "WHEN")]
    #[schemars(extend("x-source" = "ours, because a data set that is there need not be stored again"))]
    pub fill: Fill,
    /// How often each key is requested: uniform, zipf:ALPHA, hotset:KEYS%,ACCESSES%, sequential, latest:ALPHA and more;
    /// see taillight explain cache.
    #[arg(long, default_value_t = Popularity::Uniform, value_name = "POPULARITY")]
    #[schemars(extend("x-source" = "ISPASS'16 §VI-C: uniform; IISWC'17 and ANCS'19 name none for Memcached, and mutilate draws so"))]
    pub popularity: Popularity,
    /// Check the content of every returned value. A wrong value makes the run invalid.
    #[arg(long, value_name = "checksum|none", num_args = 0..=1, default_missing_value = "checksum")]
    #[schemars(extend("x-source" = "ours, because checking every value takes the generator's processor time"))]
    pub verify: Option<Verify>,
    /// Agree to store items in a server that runs already and holds others' items, has too little memory for the data
    /// set, or does not tell. An empty server with room needs no agreement, nor does a load that only reads.
    #[arg(long)]
    #[schemars(extend("x-source" = "ours, because storing items may evict others', wherever the server is"))]
    pub yes: bool,
    /// Requests of a trace.
    #[command(flatten)]
    #[serde(flatten)]
    pub replay: Replay,
}

default_options! { Cache; }

words! {
    /// How operations are written.
    #[derive(Default)]
    pub enum Protocol: "protocol", "write one of: auto ascii meta resp" {
        /// The protocol in the target's description, or else the classic commands of memcached.
        #[default]
        Auto = "auto",
        /// The classic commands of memcached: `get`, `set`.
        Ascii = "ascii",
        /// The meta commands of memcached 1.6: `mg`, `ms`.
        Meta = "meta",
        /// RESP, the protocol of Redis and Valkey: `GET`, `SET`.
        Resp = "resp",
    }

    /// The reaction to a miss of `get`, `mget`, `gets` and `gat`.
    #[derive(Default)]
    pub enum OnMiss: "answer to a miss", "write one of: nothing set" {
        /// Nothing.
        #[default]
        Nothing = "nothing",
        /// The missing items are stored at once, as by an application that reads them from its database; an operation of
        /// its own, `set on miss`. With replicas, only the server that lacked an item gets it.
        Set = "set",
    }

    /// How keys are spread over the servers of a cluster.
    #[derive(Default)]
    pub enum Placement: "placement", "write replicated, ketama, modulo, partitions or cluster" {
        /// Every server holds everything: writes go to all, a read to one drawn at random.
        #[default]
        Replicated = "replicated",
        /// The consistent hashing of libmemcached's `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED` with equal weights: 160 points a
        /// server from MD5, keys hashed by MD5. It is what pylibmc and PHP call *ketama*. libmemcached's plain
        /// `MEMCACHED_BEHAVIOR_KETAMA`, 100 points from another hash, is compatible with no other client and not offered.
        Ketama = "ketama",
        /// libmemcached's default: Jenkins's one-at-a-time hash modulo the number of servers.
        Modulo = "modulo",
        /// The threads of one Sphinx, at their own ports, as listed by its `stats partitions`.
        Partitions = "partitions",
        /// The nodes of a Redis Cluster that take writes, as listed by its `CLUSTER SLOTS`. Requests for keys that have
        /// moved are repeated at the new node.
        Cluster = "cluster",
    }

    /// When the data set is stored.
    #[derive(Default)]
    pub enum Fill: "time to store the data set", "write auto, always or never" {
        /// If it is not stored yet.
        #[default]
        Auto = "auto",
        /// In any case.
        Always = "always",
        /// Not at all; the load uses the present content.
        Never = "never",
    }
}

impl Facts for Cache {
    fn preset(&self) -> Option<Preset> {
        self.preset
    }

    fn replays(&self) -> bool {
        self.replay.trace.is_some()
    }

    fn speak(&mut self, protocol: Protocol) {
        if self.protocol == Protocol::Auto {
            self.protocol = protocol;
        }
    }

    fn agree(&mut self) {
        self.yes = true;
    }

    fn items(&self) -> u64 {
        // The length of a listed data set is unknown.
        const LISTED: u64 = 1_000_000;
        if self.replay.trace.is_some() {
            return 0;
        }
        if self.data_set.is_some() { self.keys.max(LISTED) } else { self.keys }
    }

    fn divide(&mut self, _part: &dyn Fn(u32) -> u32) {
        // The coordinator has already asked the servers, and stored the data set.
        (self.fill, self.yes) = (Fill::Never, true);
    }

    fn own_file(&self) -> Option<OwnFile<'_>> {
        let file = self.replay.trace.as_deref()?;
        Some(OwnFile {
            file,
            option: "trace",
            is_sent: false,
            instead: "replay it from this machine, without --agents",
        })
    }

    fn in_words(&self) -> String {
        if let Some(trace) = &self.replay.trace {
            return format!("the trace {}", trace.display());
        }
        let size = self.key_size.to_string();
        match &self.data_set {
            Some(name) => format!("the data set {name}"),
            None => format!("{} keys of {} B", self.keys, size.trim_start_matches("fixed:")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        for protocol in [Protocol::Auto, Protocol::Ascii, Protocol::Meta, Protocol::Resp] {
            assert_eq!(protocol.to_string().parse(), Ok(protocol));
        }
        for on_miss in [OnMiss::Nothing, OnMiss::Set] {
            assert_eq!(on_miss.to_string().parse(), Ok(on_miss));
        }
        let error = "binary".parse::<Protocol>().unwrap_err().to_string();
        assert_eq!(
            error,
            "protocol 'binary': there is none of this name; write one of: auto ascii meta resp"
        );
    }
}
