use dist::{Purpose, Size, Streams};

use crate::cache::CacheConfig;

/// The seed of all sizes. They do not follow the load's seed: trials with different seeds share one data set, which
/// would otherwise have to be stored anew for each.
const SIZES: u64 = 0x6974_656d_7321;

/// The data set: key and value of every number below `keys`, made when asked for.
///
/// Nothing is stored per key, so a data set of any number of keys takes the memory of one value. Sizes are
/// drawn from a stream of the key's own, so that who fills and who reads agree on them.
#[derive(Clone, Debug)]
pub struct Items {
    prefix: Vec<u8>,
    keys: u64,
    key_size: Size,
    value_size: Size,
    streams: Streams,
    /// The content of the largest value; smaller ones are its beginning.
    content: Vec<u8>,
}

impl Items {
    /// The data set of a checked configuration.
    pub fn new(config: &CacheConfig) -> Items {
        Items {
            prefix: config.key_prefix.as_bytes().to_vec(),
            keys: config.keys,
            key_size: config.key_size.clone(),
            value_size: config.value_size.clone(),
            streams: Streams::new(SIZES),
            content: (0..config.value_size.max().0).map(|i| b'a' + (i % 26) as u8).collect(),
        }
    }

    /// How many keys there are.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Appends the key of number `n`: prefix, zeros, digits. Cost: about 10 ns for a fixed size.
    #[inline]
    pub fn append_key(&self, n: u64, out: &mut Vec<u8>) {
        let size = self.size(&self.key_size, n, 0);
        let start = out.len();
        out.extend_from_slice(&self.prefix);
        out.resize(start + size, b'0');
        let mut rest = n;
        for digit in out[start + self.prefix.len()..].iter_mut().rev() {
            if rest == 0 {
                break;
            }
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }

    /// The length of the value of number `n`. Units: bytes.
    #[inline]
    pub fn value_size(&self, n: u64) -> usize {
        self.size(&self.value_size, n, 1)
    }

    /// The value of number `n`.
    #[inline]
    pub fn value(&self, n: u64) -> &[u8] {
        &self.content[..self.value_size(n)]
    }

    #[inline]
    fn size(&self, size: &Size, n: u64, which: u64) -> usize {
        if size.min() == size.max() {
            return size.min().0 as usize;
        }
        size.sample(&mut self.streams.stream(Purpose::Sizes, 2 * n + which))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Mix;
    use std::collections::HashSet;

    fn items(key_size: &str, value_size: &str) -> Items {
        Items::new(&CacheConfig {
            keys: 1_000,
            key_prefix: "t:".parse().unwrap(),
            key_size: key_size.parse().unwrap(),
            value_size: value_size.parse().unwrap(),
            popularity: dist::Popularity::Uniform,
            mix: Mix::default(),
            seed: 1,
        })
    }

    fn key(items: &Items, n: u64) -> String {
        let mut out = Vec::new();
        items.append_key(n, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn keys_have_their_size_and_differ() {
        let fixed = items("12", "5");
        assert_eq!(key(&fixed, 0), "t:0000000000");
        assert_eq!(key(&fixed, 907), "t:0000000907");
        let mixed = items("uniform:5..40", "5");
        let all: HashSet<String> = (0..1_000).map(|n| key(&mixed, n)).collect();
        assert_eq!(all.len(), 1_000);
        assert!(all.iter().all(|k| (5..=40).contains(&k.len())));
        assert!(all.iter().map(String::len).collect::<HashSet<_>>().len() > 30, "sizes vary");
    }

    #[test]
    fn the_data_set_does_not_follow_the_seed() {
        let with = |seed: u64| {
            let config = CacheConfig {
                keys: 100,
                key_prefix: "t:".parse().unwrap(),
                key_size: "uniform:5..40".parse().unwrap(),
                value_size: "uniform:1..1000".parse().unwrap(),
                popularity: dist::Popularity::Uniform,
                mix: Mix::default(),
                seed,
            };
            let items = Items::new(&config);
            (0..100).map(|n| (key(&items, n), items.value_size(n))).collect::<Vec<_>>()
        };
        assert_eq!(with(1), with(2));
    }

    #[test]
    fn a_key_keeps_its_value_size() {
        let items = items("12", "uniform:1..1000");
        let sizes: Vec<usize> = (0..1_000).map(|n| items.value_size(n)).collect();
        assert!((0..1_000).all(|n| items.value(n).len() == sizes[n as usize]));
        let mean = sizes.iter().sum::<usize>() as f64 / 1_000.0;
        // The standard deviation of the mean is 288 / √1000 = 9.
        assert!((mean - 500.5).abs() < 45.0, "{mean}");
    }
}
