use std::fmt;

use anyhow::{Result, anyhow};
use dist::{ItemSizes, KeySampler, Popularity, Purpose, Rng, Size, Streams};

use crate::client::Items;

/// Gets that are sent at once.
const BATCH: usize = 32;

/// Keys by Zipf's law, and the sizes of their items.
pub(crate) struct Workload {
    alpha: f64,
    name: &'static str,
    sizes: ItemSizes,
}

impl Workload {
    /// 30 B and 200 B at three exponents, and ETC's sizes at the middle one.
    pub(crate) fn all() -> Result<Vec<Workload>> {
        let size = |text: &str| text.parse::<Size>().map_err(|error| anyhow!("{text}: {error}"));
        let workload = |alpha, name, key: &str, value: &str| -> Result<Workload> {
            Ok(Workload {
                alpha,
                name,
                sizes: ItemSizes::Drawn { key: size(key)?, value: size(value)?, seed: 1 },
            })
        };
        let fixed = |alpha| workload(alpha, "30 B / 200 B", "fixed:30", "fixed:200");
        // Keys hold their number, which takes 8 digits; the law has 0.4 % below.
        let etc = workload(0.99, "ETC's sizes", "etc-key[8..250]", "etc-value")?;
        Ok(vec![fixed(0.9)?, fixed(0.99)?, fixed(1.1)?, etc])
    }

    pub(crate) fn requests(&self, keys: u64) -> Requests {
        let sampler = KeySampler::new(Popularity::Zipf { alpha: self.alpha }, keys).expect("keys in bounds");
        Requests { sampler: sampler.scattered(7), rng: Streams::new(42).stream(Purpose::Keys, 0), keys }
    }

    /// Key and value of an item together, if all are alike. Units: bytes.
    pub(crate) fn payload(&self) -> Option<f64> {
        let (least, most) = (
            self.sizes.keys().0.0 + self.sizes.values().0.0,
            self.sizes.keys().1.0 + self.sizes.values().1.0,
        );
        (least == most).then_some(least as f64)
    }
}

impl Items for Workload {
    fn write_key(&self, item: u64, out: &mut Vec<u8>) {
        use std::io::Write;
        let width = self.sizes.key_size(item) as usize;
        write!(out, "{item:0width$}").expect("a vector takes all");
    }

    fn value_size(&self, item: u64) -> usize {
        self.sizes.value_size(item) as usize
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zipf {}, {}", self.alpha, self.name)
    }
}

/// The same keys in the same order for each server.
pub(crate) struct Requests {
    sampler: KeySampler,
    rng: Rng,
    keys: u64,
}

impl Requests {
    pub(crate) fn next_batch(&mut self) -> Vec<u64> {
        (0..BATCH).map(|_| self.sampler.sample(&mut self.rng, self.keys)).collect()
    }
}
