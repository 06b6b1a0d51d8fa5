use std::sync::Arc;

use dist::ItemSizes;
use proto_memcache::append_u64;
use replay::Replay;

use crate::cache::cluster::{Shards, Slots};
use crate::cache::content::Content;
use crate::cache::{CacheConfig, Digits, Versions};

/// The data set: key, value and server of every number below `keys`, made when asked for.
///
/// Nothing is stored per key, so a data set of any number of keys takes the memory of one value. Sizes are
/// drawn from a stream of the key's own, so that filling and reading agree on them.
#[derive(Debug)]
pub struct Items {
    prefix: Vec<u8>,
    digits: Digits,
    keys: u64,
    counters: u64,
    grown: u64,
    sizes: ItemSizes,
    shortest_key: usize,
    servers: usize,
    shards: Shards,
    verify: bool,
    versions: Versions,
    /// The content of the largest value, if values are not checked; smaller ones are its beginning. Of a trace at most
    /// [`CONTENT_MAX`], which larger ones repeat.
    content: Vec<u8>,
    /// The requests of a trace, whose records are the numbers of items then.
    replay: Option<Arc<Replay>>,
}

/// The kind of an item; each has keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Items to read and store: the prefix, zeros, the number.
    Data,
    /// A number to count up and down: a `c` after the prefix.
    Counter,
    /// Items to append and prepend to: an `a` after the prefix.
    Grown,
}

/// The most counters, and the most items that grow; popularity is folded onto them. For growing ones a thread keeps a
/// byte each.
const SIDE_MAX: u64 = 1 << 16;
/// The initial value of a counter: in the middle, so that it has 10 digits after a billion steps either way.
const COUNTER: u64 = 5_000_000_000;
/// The longest value of an item that grows, before it does: growth stays far from any server's limit.
const GROWN_MAX: usize = 1 << 16;
/// The most content that is kept for the values of a trace, which may have any size up to a gigabyte.
const CONTENT_MAX: u64 = 1 << 20;
/// The bytes appended or prepended each time.
pub(super) const PIECE: &[u8] = b"+piece+\n";

impl Items {
    /// The data set of a checked configuration.
    pub fn new(config: &CacheConfig) -> Items {
        let options = &config.options;
        let side = |is: fn(&crate::cache::Operation) -> bool| {
            if options.mix.any(is) { options.keys.min(SIDE_MAX) } else { 0 }
        };
        let sizes = config.sizes();
        let replay = config.replay.clone();
        let longest = match &replay {
            _ if config.verifies() => GROWN_MAX as u64,
            Some(replay) => replay.requests().header().largest.max(sizes.values().1.0).min(CONTENT_MAX),
            None => sizes.values().1.0,
        };
        Items {
            prefix: options.key_prefix.as_bytes().to_vec(),
            digits: options.key_digits,
            // A trace brings its own items into the cache.
            keys: if config.replay.is_some() { 0 } else { options.keys },
            counters: side(crate::cache::Operation::counts),
            grown: side(crate::cache::Operation::grows),
            shortest_key: config.shortest_key(),
            sizes,
            servers: config.cluster.servers.len(),
            shards: Shards::new(&config.cluster),
            verify: config.verifies(),
            versions: Versions::default(),
            content: (0..longest).map(|i| b'a' + (i % 26) as u8).collect(),
            replay,
        }
    }

    /// How many keys there are.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// How many items a fill stores: the keys, plus counters and growing items if the mix has such operations.
    pub fn total(&self) -> u64 {
        self.keys + self.counters + self.grown
    }

    /// The `i`-th of all items. Bounds: below [`Items::total`].
    pub fn item(&self, i: u64) -> (Kind, u64) {
        match i.checked_sub(self.keys) {
            None => (Kind::Data, i),
            Some(i) => match i.checked_sub(self.counters) {
                None => (Kind::Counter, i),
                Some(i) => (Kind::Grown, i),
            },
        }
    }

    /// The number of the item of a kind that key `n` stands for, whose popularity it shares.
    #[inline]
    pub(super) fn fold(&self, kind: Kind, n: u64) -> u64 {
        match kind {
            Kind::Data => n,
            Kind::Counter => n % self.counters.max(1),
            Kind::Grown => n % self.grown.max(1),
        }
    }

    /// How many items grow.
    pub(super) fn grown(&self) -> usize {
        self.grown as usize
    }

    /// The requests of a trace, if they are replayed.
    #[inline]
    pub fn replay(&self) -> Option<&Replay> {
        self.replay.as_deref()
    }

    /// How many servers there are.
    pub fn servers(&self) -> usize {
        self.servers
    }

    /// The only server that holds a key; `None` if all of them do.
    #[inline]
    pub fn server(&self, key: &[u8]) -> Option<usize> {
        self.shards.of(key)
    }

    /// The slots of a Redis Cluster; `None` of other servers.
    pub(super) fn slots(&self) -> Option<&Slots> {
        self.shards.slots()
    }

    /// Whether values can be checked.
    #[inline]
    pub fn is_verified(&self) -> bool {
        self.verify
    }

    /// The versions that values may have.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Appends the key of number `n`: prefix, zeros, digits. Cost: about 10 ns for a fixed size.
    ///
    /// A size that is too short for the number is raised. Numbers from [`Items::keys`] on are those of inserts.
    #[inline]
    pub fn append_key(&self, kind: Kind, n: u64, out: &mut Vec<u8>) {
        let (n, size) = match &self.replay {
            None => (n, self.sizes.key_size(n)),
            Some(replay) => {
                let record = replay.record(n);
                let size = u64::from(record.key_size);
                (record.key, if size > 0 { size } else { self.sizes.key_size(record.key) })
            }
        };
        let size = (size as usize).max(self.shortest_key);
        let start = out.len();
        out.extend_from_slice(&self.prefix);
        out.resize(start + size, b'0');
        let digits = start + self.prefix.len();
        if self.digits.write(n, &mut out[digits..]) > 0 {
            // The number has more digits than the data set's largest: an insert.
            out.truncate(digits);
            out.resize(digits + self.digits.count(n), b'0');
            self.digits.write(n, &mut out[digits..]);
        }
        match kind {
            Kind::Data => {}
            // Their numbers are below `keys`, so that a digit is left over.
            Kind::Counter => out[digits] = b'c',
            Kind::Grown => out[digits] = b'a',
        }
    }

    /// The length of the value of number `n`. Units: bytes.
    #[inline]
    pub fn value_size(&self, n: u64) -> usize {
        let Some(replay) = &self.replay else { return self.sizes.value_size(n) as usize };
        let record = replay.record(n);
        record.size.map_or_else(|| self.sizes.value_size(record.key) as usize, |size| size as usize)
    }

    /// The length of an item's value when it is stored. Units: bytes.
    #[inline]
    pub fn stored_size(&self, kind: Kind, n: u64) -> usize {
        match kind {
            Kind::Data => self.value_size(n),
            Kind::Counter => COUNTER.ilog10() as usize + 1,
            Kind::Grown => self.value_size(n).min(GROWN_MAX),
        }
    }

    /// Appends the value of an item whose key is `key`, of length [`Items::stored_size`].
    #[inline]
    pub fn append_value(&self, kind: Kind, n: u64, key: &[u8], version: u64, out: &mut Vec<u8>) {
        match kind {
            Kind::Data if self.verify => Content::of(key).append(version, self.value_size(n), out),
            Kind::Counter => append_u64(out, COUNTER),
            _ if self.replay.is_some() => {
                let mut left = self.value_size(n);
                while left > 0 {
                    let part = left.min(self.content.len());
                    out.extend_from_slice(&self.content[..part]);
                    left -= part;
                }
            }
            _ => out.extend_from_slice(&self.content[..self.stored_size(kind, n)]),
        }
    }

    /// Checks the value received for a key of the data set: its length, and its content if verified. In a trace the length
    /// of a key's value may change with each set, so that only contents are checked, each for its own length.
    ///
    /// Errors: the defect.
    #[inline]
    pub fn check(&self, n: u64, key: &[u8], value: &[u8]) -> Result<(), String> {
        let size = self.value_size(n);
        if value.len() != size && self.replay.is_none() {
            return Err(format!("a value has {} B instead of {size} B", value.len()));
        }
        if self.verify { self.check_content(key, value) } else { Ok(()) }
    }

    fn check_content(&self, key: &[u8], value: &[u8]) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("the value of '{}' is wrong: {what}", key.escape_ascii()));
        match Content::of(key).check(value) {
            Err(what) => wrong(what),
            Ok(Some(version)) if !self.versions.is_possible(version) => {
                wrong(&format!("its version {version} has not been sent yet"))
            }
            Ok(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::config::tests::config;
    use spec::workload::Verify;
    use std::collections::HashSet;

    fn items(key_size: &str, value_size: &str, mix: &str) -> Items {
        Items::new(&config(mix).with(|options| {
            options.keys = 1_000;
            (options.key_size, options.value_size) = (key_size.parse().unwrap(), value_size.parse().unwrap());
        }))
    }

    fn key(items: &Items, kind: Kind, n: u64) -> String {
        let mut out = Vec::new();
        items.append_key(kind, n, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_have_their_size_and_differ() {
        let fixed = items("12", "5", "get:100");
        assert_eq!(key(&fixed, Kind::Data, 0), "t:0000000000");
        assert_eq!(key(&fixed, Kind::Data, 907), "t:0000000907");
        assert_eq!(key(&fixed, Kind::Counter, 907), "t:c000000907");
        assert_eq!(key(&fixed, Kind::Grown, 0), "t:a000000000");
        let mixed = items("uniform:5..40", "5", "get:100");
        let all: HashSet<String> = (0..1_000).map(|n| key(&mixed, Kind::Data, n)).collect();
        assert_eq!(all.len(), 1_000);
        assert!(all.iter().all(|k| (5..=40).contains(&k.len())));
        assert!(all.iter().map(String::len).collect::<HashSet<_>>().len() > 30, "sizes vary");
        let clipped = items("normal:5,5", "5", "get:100");
        assert!((0..1_000).all(|n| key(&clipped, Kind::Data, n).len() >= 5));
    }

    #[test]
    fn keys_of_four_bytes_tell_many_items_apart() {
        let config = config("get:100").with(|options| {
            (options.keys, options.key_digits) = (200_000, Digits::Base62);
            (options.key_size, options.key_prefix) = ("4".parse().unwrap(), "t".parse().unwrap());
        });
        config.check().unwrap();
        let items = Items::new(&config);
        let all: HashSet<String> = (0..200_000).map(|n| key(&items, Kind::Data, n)).collect();
        assert_eq!(all.len(), 200_000);
        assert!(all.iter().all(|key| key.len() == 4));
        assert_eq!(key(&items, Kind::Data, 238_328), "t1000", "an insert");
        let decimal = config.with(|options| options.key_digits = Digits::Decimal);
        let error = decimal.check().unwrap_err().to_string();
        assert!(error.contains("--key-digits base62"), "{error}");
    }

    #[test]
    fn a_listed_data_set_has_its_own_sizes_and_popularity() {
        let lines = vec![
            dist::Line { key_size: 3, value_size: 7, popularity: 1.0 },
            dist::Line { key_size: 20, value_size: 90, popularity: 3.0 },
        ];
        let scaling = dist::Scaling::NONE;
        let population = dist::Population::new(&dist::DataSet::new(lines).unwrap(), scaling).unwrap();
        let config = config("get:100").with(|options| options.keys = 2);
        let config = CacheConfig { population: Some(population.into()), ..config };
        config.check().unwrap();
        let items = Items::new(&config);
        let mut shapes: Vec<_> =
            (0..2).map(|n| (key(&items, Kind::Data, n).len(), items.value_size(n))).collect();
        shapes.sort_unstable();
        assert_eq!(shapes, [(3, 7), (20, 90)]);
        let mut picker = crate::cache::picker::Picker::new(&config, crate::cache::Seat::ONLY).unwrap();
        let mut rng = dist::Streams::new(1).stream(dist::Purpose::Keys, 0);
        let large = (0..1_000).filter(|_| items.value_size(picker.pick(&mut rng)) == 90).count();
        // The standard deviation is √(1 000 × 3/16) = 14.
        assert!(large.abs_diff(750) < 65, "{large}");
    }

    #[test]
    fn inserts_have_keys_of_their_own() {
        let short = items("5", "5", "get:100");
        assert_eq!(key(&short, Kind::Data, 999), "t:999");
        assert_eq!(key(&short, Kind::Data, 1_000), "t:1000");
        assert_eq!(key(&short, Kind::Data, 123_456), "t:123456");
    }

    #[test]
    fn the_fill_has_what_the_mix_needs() {
        let check = |mix: &str, total: u64, last: (Kind, u64)| {
            let items = items("12", "5", mix);
            assert_eq!((items.total(), items.item(total - 1)), (total, last), "{mix}");
            let all: HashSet<String> =
                (0..total).map(|i| items.item(i)).map(|(kind, n)| key(&items, kind, n)).collect();
            assert_eq!(all.len() as u64, total);
        };
        check("get:100", 1_000, (Kind::Data, 999));
        check("get:50,incr:50", 2_000, (Kind::Counter, 999));
        check("get:50,prepend:50", 2_000, (Kind::Grown, 999));
        check("get:50,decr:25,append:25", 3_000, (Kind::Grown, 999));
    }

    #[test]
    fn the_data_set_does_not_follow_the_seed() {
        let with = |seed: u64| {
            let config = config("get:100").with(|options| {
                options.key_size = "uniform:5..40".parse().unwrap();
                options.value_size = "uniform:1..1000".parse().unwrap();
            });
            let items = Items::new(&CacheConfig { seed, ..config });
            (0..100).map(|n| (key(&items, Kind::Data, n), items.value_size(n))).collect::<Vec<_>>()
        };
        assert_eq!(with(1), with(2));
    }

    #[test]
    fn a_key_keeps_its_value_size() {
        for verify in [None, Some(Verify::Checksum)] {
            let items = Items::new(&config("get:100").with(|options| {
                (options.keys, options.verify) = (1_000, verify);
                options.value_size = "uniform:1..1000".parse().unwrap();
            }));
            let mut sum = 0;
            for n in 0..1_000 {
                let mut value = Vec::new();
                items.append_value(Kind::Data, n, b"k", 0, &mut value);
                assert_eq!(value.len(), items.value_size(n));
                sum += value.len();
            }
            // The standard deviation of the mean is 288 / √1000 = 9.
            assert!((sum as f64 / 1_000.0 - 500.5).abs() < 45.0, "{sum}");
        }
    }

    #[test]
    fn checks_what_can_be_checked() {
        let items = |verify: bool| {
            Items::new(&config("get:100").with(|options| {
                options.value_size = "24".parse().unwrap();
                options.verify = verify.then_some(Verify::Checksum);
            }))
        };
        let check = |verify, value: &[u8], expect: &str| {
            let got = items(verify).check(1, b"t:000001", value).err().unwrap_or_default();
            assert!(got.contains(expect) && got.is_empty() == expect.is_empty(), "{got}");
        };
        let mut good = Vec::new();
        items(true).append_value(Kind::Data, 1, b"t:000001", 0, &mut good);
        let mut future = Vec::new();
        items(true).append_value(Kind::Data, 1, b"t:000001", 5, &mut future);
        check(true, &good, "");
        check(true, &good[..23], "23 B instead of 24 B");
        check(true, &future, "its version 5 has not been sent yet");
        check(true, &[0; 24], "belongs to another key");
        check(false, &[0; 24], "");
        check(false, &good[..23], "23 B instead of 24 B");
    }
}
