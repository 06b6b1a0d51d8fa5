use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::replay::is_chosen;

/// Figures of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeySeen {
    pub(crate) requests: u64,
    /// Units: ns after the start.
    pub(crate) last_ns: u64,
    /// Known length of key and value. Units: bytes.
    pub(crate) bytes: u64,
}

/// The keys of a trace, or of so large a part of them as there is room for: each time it is full, one half of the keys,
/// chosen by their numbers, is dropped. The rest are known from their first request to their last.
///
/// Source: Waldspurger, Park, Garthwaite and Ahmad, *Efficient MRC construction with SHARDS*, FAST 2015.
pub(crate) struct KeyTable {
    keys: HashMap<u64, KeySeen, BuildHasherDefault<Plain>>,
    one_in: u64,
    most: usize,
}

/// Keys are hashes already, or numbers that a trace chose.
#[derive(Default)]
struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = dist::mixed(self.0 ^ number);
    }
}

impl KeyTable {
    /// The usual number of keys: 60 MB.
    pub(crate) const MOST: usize = 1 << 20;

    pub(crate) fn new(most: usize) -> KeyTable {
        KeyTable { keys: HashMap::default(), one_in: 1, most }
    }

    /// The entry of a key for a request of it; `None` if it is not among the known ones.
    pub(crate) fn entry(&mut self, key: u64) -> Option<&mut KeySeen> {
        if !is_chosen(key, self.one_in) {
            return None;
        }
        if self.keys.len() >= self.most && !self.keys.contains_key(&key) {
            while self.keys.len() >= self.most {
                self.one_in *= 2;
                self.keys.retain(|key, _| is_chosen(*key, self.one_in));
            }
            if !is_chosen(key, self.one_in) {
                return None;
            }
        }
        Some(self.keys.entry(key).or_default())
    }

    /// One in how many keys is known.
    pub(crate) fn one_in(&self) -> u64 {
        self.one_in
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &KeySeen> {
        self.keys.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_whole_keys_within_its_room() {
        let mut table = KeyTable::new(1_000);
        for round in 1..=3 {
            for key in 0..10_000 {
                if let Some(seen) = table.entry(key) {
                    seen.requests += 1;
                }
            }
            assert!(table.keys.len() <= 1_000);
            assert!(table.values().all(|seen| seen.requests == round), "from the first on");
        }
        // A sixteenth of 10 000 keys is 625; the standard deviation is 24.
        assert_eq!(table.one_in(), 16);
        assert!(table.keys.len().abs_diff(625) < 125, "{}", table.keys.len());
    }
}
