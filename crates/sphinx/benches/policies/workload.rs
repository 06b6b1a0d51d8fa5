use std::fmt;

use anyhow::{Result, anyhow};
use dist::{ItemSizes, KeySampler, Popularity, Purpose, Rng, Scatter, Size, Streams};

use crate::client::Items;

/// Chooses the keys' sizes, their places and the draws.
const SEED: u64 = 42;
/// Requests of one second, by which items end. Slow enough for memcached in step with the clock.
const PER_SECOND: usize = 50_000;
/// How long items of a key live where items end, by turns. Units: seconds.
const LIFETIMES: [u64; 3] = [3, 10, 40];
/// A number of an item: its key, and above these bits how often its value has changed.
const KEY_BITS: u32 = 32;

/// Choice of the next key. Shares are of the keys, or of the requests.
#[derive(Clone, Copy)]
enum Shape {
    /// By Zipf's law.
    Stays,
    /// A fifth of the requests goes through keys in order that are never asked for again, a twentieth of the keys at once.
    Scan,
    /// So does each fourth request.
    Once,
    /// Two fifths of the keys, round and round.
    Loop,
    /// A tenth of the keys, round and round, by each second request.
    LoopWithin,
    /// Items end: their keys are still requested, but with new values.
    Ends,
    /// The most popular key is a new one, 20 requests later it is the second.
    Drifts,
    /// Four times all ranks move.
    Jumps,
}

/// A sequence of requests, the same at each call.
pub(crate) struct Workload {
    name: &'static str,
    alpha: f64,
    shape: Shape,
    sizes: ItemSizes,
    keys: u64,
}

impl Workload {
    /// All, over `keys` keys each.
    pub(crate) fn all(keys: u64) -> Result<Vec<Workload>> {
        let size = |text: &str| text.parse::<Size>().map_err(|error| anyhow!("{text}: {error}"));
        let sizes = |key: &str, value: &str| -> Result<ItemSizes> {
            Ok(ItemSizes::Drawn { key: size(key)?, value: size(value)?, seed: 1 })
        };
        // Keys hold their number, which takes 8 digits; the law has 0.4 % below.
        let etc = sizes("etc-key[8..250]", "etc-value")?;
        let fixed = sizes("fixed:30", "fixed:200")?;
        let workload = |name, alpha, shape| Workload { name, alpha, shape, sizes: fixed.clone(), keys };
        let stays = [0.6, 0.8, 0.9, 1.0, 1.1, 1.2].map(|alpha| workload("", alpha, Shape::Stays));
        let others = [
            Workload { sizes: etc, ..workload("sizes of ETC", 0.99, Shape::Stays) },
            workload("items end", 0.9, Shape::Ends),
            workload("scans", 0.9, Shape::Scan),
            workload("keys used once", 0.9, Shape::Once),
            workload("a loop that fits", 0.9, Shape::LoopWithin),
            workload("a loop that does not fit", 0.0, Shape::Loop),
            workload("ranks drift", 0.9, Shape::Drifts),
            workload("ranks jump", 0.9, Shape::Jumps),
        ];
        Ok(stays.into_iter().chain(others).collect())
    }

    /// The items asked for, one after the other.
    pub(crate) fn requests(&self, count: usize) -> Vec<u64> {
        let popularity =
            if self.alpha == 0.0 { Popularity::Uniform } else { Popularity::Zipf { alpha: self.alpha } };
        let sampler = KeySampler::new(popularity, self.keys).expect("keys in bounds");
        let mut draw = Draw { sampler, rng: Streams::new(SEED).stream(Purpose::Keys, 0), keys: self.keys };
        let spread = Scatter::new(self.keys, SEED);
        // Beyond all others.
        let mut fresh = self.keys..;
        let mut fresh = || fresh.next().expect("there is no end");
        // A scan and four times as many other requests.
        let burst = (self.keys / 20) as usize;
        let next = |i: usize| match self.shape {
            Shape::Stays => spread.apply(draw.rank()),
            Shape::Scan if i % (5 * burst) < burst => fresh(),
            Shape::Once if i.is_multiple_of(4) => fresh(),
            Shape::Scan | Shape::Once => spread.apply(draw.rank()),
            Shape::Loop => i as u64 % (self.keys * 2 / 5),
            Shape::LoopWithin if i.is_multiple_of(2) => spread.apply(i as u64 / 2 % (self.keys / 10)),
            Shape::LoopWithin => spread.apply(self.keys - 1 - draw.rank()),
            Shape::Ends => self.current(spread.apply(draw.rank()), second(i)),
            Shape::Drifts => spread.apply((draw.rank() + self.keys - i as u64 / 20 % self.keys) % self.keys),
            Shape::Jumps => Scatter::new(self.keys, SEED + (i * 5 / count) as u64).apply(draw.rank()),
        };
        (0..count).map(next).collect()
    }

    /// Whether requests have to be sent in step with the clock.
    pub(crate) fn needs_time(&self) -> bool {
        matches!(self.shape, Shape::Ends)
    }

    /// The item that a key has in this second.
    fn current(&self, key: u64, second: u64) -> u64 {
        key | ((second + key) / lifetime(key)) << KEY_BITS
    }

    /// The items as they are at request `i`.
    pub(crate) fn at(&self, i: usize) -> At<'_> {
        At { workload: self, second: second(i), longer: 0 }
    }

    /// Key and value of an item together. Units: bytes.
    pub(crate) fn payload(&self, item: u64) -> u64 {
        let key = item & ((1 << KEY_BITS) - 1);
        self.sizes.key_size(key) + self.sizes.value_size(key)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let law = if self.alpha == 0.0 { String::new() } else { format!("Zipf {:?}", self.alpha) };
        let both = !law.is_empty() && !self.name.is_empty();
        write!(f, "{law}{}{}", if both { ", " } else { "" }, self.name)
    }
}

/// The second in which request `i` is sent.
pub(crate) fn second(i: usize) -> u64 {
    (i / PER_SECOND) as u64
}

fn lifetime(key: u64) -> u64 {
    LIFETIMES[(key % 3) as usize]
}

struct Draw {
    sampler: KeySampler,
    rng: Rng,
    keys: u64,
}

impl Draw {
    fn rank(&mut self) -> u64 {
        self.sampler.sample(&mut self.rng, self.keys)
    }
}

/// The items of a workload in one second.
pub(crate) struct At<'w> {
    workload: &'w Workload,
    second: u64,
    longer: u64,
}

impl At<'_> {
    /// Items end as much later. Units: seconds.
    pub(crate) fn longer_by(self, longer: u64) -> Self {
        At { longer, ..self }
    }
}

impl Items for At<'_> {
    fn write_key(&self, item: u64, out: &mut Vec<u8>) {
        use std::io::Write;
        let width = self.workload.sizes.key_size(item & ((1 << KEY_BITS) - 1)) as usize;
        write!(out, "{item:0width$}").expect("a vector takes all");
    }

    fn value_size(&self, item: u64) -> usize {
        self.workload.sizes.value_size(item & ((1 << KEY_BITS) - 1)) as usize
    }

    fn seconds_left(&self, item: u64) -> u64 {
        if !self.workload.needs_time() {
            return 0;
        }
        let key = item & ((1 << KEY_BITS) - 1);
        let end = ((item >> KEY_BITS) + 1) * lifetime(key) - key;
        end.saturating_sub(self.second) + self.longer
    }
}
