use std::sync::Arc;

use units::Bytes;

use crate::{Draw, Population, Size};

/// The sizes of the items of a data set, by their number, wherever they come from; the same at every call.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum ItemSizes {
    /// Drawn for each item from its number, and from the seed that distinguishes data sets.
    Drawn { key: Size, value: Size, seed: u64 },
    /// Sizes of a listed data set and its copies.
    Listed(Arc<Population>),
}

impl ItemSizes {
    /// The length of an item's key. Units: bytes.
    #[inline]
    pub fn key_size(&self, item: u64) -> u64 {
        match self {
            ItemSizes::Drawn { key, seed, .. } => key.of_item(seed.wrapping_mul(2), item),
            ItemSizes::Listed(population) => population.key_size(item),
        }
    }

    /// The length of an item's value. Units: bytes.
    #[inline]
    pub fn value_size(&self, item: u64) -> u64 {
        match self {
            ItemSizes::Drawn { value, seed, .. } => value.of_item(seed.wrapping_mul(2).wrapping_add(1), item),
            ItemSizes::Listed(population) => population.value_size(item),
        }
    }

    /// The shortest and the longest key.
    pub fn keys(&self) -> (Bytes, Bytes) {
        match self {
            ItemSizes::Drawn { key, .. } => (key.min(), key.max()),
            ItemSizes::Listed(population) => population.key_sizes(),
        }
    }

    /// The shortest and the longest value.
    pub fn values(&self) -> (Bytes, Bytes) {
        match self {
            ItemSizes::Drawn { value, .. } => (value.min(), value.max()),
            ItemSizes::Listed(population) => population.value_sizes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_drawn_apart() {
        let same: Size = "uniform:1..1000000".parse().unwrap();
        let sizes = |seed| ItemSizes::Drawn { key: same.clone(), value: same.clone(), seed };
        let of =
            |sizes: &ItemSizes| (0..50).map(|n| (sizes.key_size(n), sizes.value_size(n))).collect::<Vec<_>>();
        assert_eq!(of(&sizes(1)), of(&sizes(1)));
        assert_ne!(of(&sizes(1)), of(&sizes(2)));
        assert!(of(&sizes(1)).iter().all(|(key, value)| key != value));
        assert_eq!(
            (sizes(1).keys(), sizes(1).values()),
            ((Bytes(1), Bytes(1_000_000)), (Bytes(1), Bytes(1_000_000)))
        );
    }
}
