use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Hashes keys; all partitions of a server share one seed, so that each key is hashed once.
#[derive(Clone, Copy, Debug)]
pub struct KeyHasher {
    seed: u64,
    function: fn(&[u8], u64) -> u64,
}

impl KeyHasher {
    /// XXH3 with `seed`. Cost: about 5 ns for a 30 B key.
    pub fn new(seed: u64) -> KeyHasher {
        KeyHasher { seed, function: xxh3_64_with_seed }
    }

    /// Another function in the place of XXH3, so that tests can make hashes collide.
    #[doc(hidden)]
    pub fn with_function(seed: u64, function: fn(&[u8], u64) -> u64) -> KeyHasher {
        KeyHasher { seed, function }
    }

    /// `bytes` with its hash.
    #[inline]
    pub fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        Key { bytes, hash: self.hash(bytes) }
    }

    /// The hash of `key`.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash((self.function)(key, self.seed))
    }
}

/// A key with its hash.
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    /// The key. Bounds: 250 bytes.
    pub bytes: &'k [u8],
    /// Its hash, from the store's own [`KeyHasher`].
    pub hash: KeyHash,
}

/// The hash of a key, whose parts choose partition, bucket and tag independently of each other.
///
/// ```text
///  63      56         43    32 31             0
///  +---------+-------+--------+----------------+
///  |         |       |  tag   |     bucket     |
///  +---------+-------+--------+----------------+
///   partition: as a fraction of the whole range, which up to 256 partitions read from these 8 bits
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Wraps a hash that travelled between threads as a number.
    pub fn from_u64(hash: u64) -> KeyHash {
        KeyHash(hash)
    }

    /// The hash as a number.
    pub fn to_u64(self) -> u64 {
        self.0
    }

    /// Which of `partitions` the key belongs to. Bounds: at least 1 partition.
    #[inline]
    pub fn partition(self, partitions: usize) -> usize {
        ((u128::from(self.0) * partitions as u128) >> 64) as usize
    }

    #[inline]
    pub(crate) fn bucket(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    #[inline]
    pub(crate) fn tag(self) -> u64 {
        (self.0 >> 32) & 0xfff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_even_and_leave_tags_and_buckets_random() {
        let hasher = KeyHasher::new(7);
        for partitions in [1usize, 2, 3, 4, 48, 256] {
            let mut counts = vec![0u32; partitions];
            let (mut tags, mut buckets) = (0u64, 0u64);
            let n = 2000 * partitions as u32;
            for i in 0..n {
                let hash = hasher.hash(format!("key-{i}").as_bytes());
                counts[hash.partition(partitions)] += 1;
                if hash.partition(partitions) == 0 {
                    // Bits that are ever 1 here, and ever 0 there: all must vary within one partition.
                    tags |= hash.tag();
                    buckets |= hash.bucket() as u64;
                }
            }
            // 6 standard deviations of a binomial of mean 2000 are about 270.
            assert!(counts.iter().all(|c| c.abs_diff(2000) < 270), "{partitions}: {counts:?}");
            assert_eq!((tags, buckets), (0xfff, 0xffff_ffff), "{partitions}");
        }
    }

    #[test]
    fn seeds_change_the_hash() {
        assert_ne!(KeyHasher::new(1).hash(b"key"), KeyHasher::new(2).hash(b"key"));
    }
}
