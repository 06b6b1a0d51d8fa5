use proto_memcache::partition;
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

    /// The same, but with the partition of a key by [`partition::of`], so that clients and the kernel know it too.
    /// Cost: some ns more.
    pub fn with_known_partitions(seed: u64) -> KeyHasher {
        KeyHasher { seed, function: with_known_partition }
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

fn with_known_partition(key: &[u8], seed: u64) -> u64 {
    let known = u64::from(partition::hash(key)) << 32;
    known & !KeyHash::OWN | xxh3_64_with_seed(key, seed) & KeyHash::OWN
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
///  63             44 43      32 31             0
///  +----------------+----------+----------------+
///  |   partition    |   tag    |     bucket     |
///  +----------------+----------+----------------+
///   the partition as a fraction of the range of its bits
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash(u64);

impl KeyHash {
    /// The bits that choose no partition.
    const OWN: u64 = u64::MAX >> partition::BITS;

    /// Wraps a hash that travelled between threads as a number.
    pub fn from_u64(hash: u64) -> KeyHash {
        KeyHash(hash)
    }

    /// The hash as a number.
    pub fn to_u64(self) -> u64 {
        self.0
    }

    /// Which of `partitions` the key belongs to. Bounds: 1 to 4096 partitions.
    #[inline]
    pub fn partition(self, partitions: usize) -> usize {
        (((self.0 >> (64 - partition::BITS)) * partitions as u64) >> partition::BITS) as usize
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
        for hasher in [KeyHasher::new(7), KeyHasher::with_known_partitions(7)] {
            check_partitions(hasher);
        }
    }

    fn check_partitions(hasher: KeyHasher) {
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

    #[test]
    fn a_known_partition_depends_on_the_key_alone() {
        for i in 0..1_000 {
            let key = format!("key-{i}");
            let [one, two] = [1, 2].map(|seed| KeyHasher::with_known_partitions(seed).hash(key.as_bytes()));
            assert_ne!(one, two);
            for partitions in [1, 2, 7, 256] {
                let expect = partition::of(key.as_bytes(), partitions);
                assert_eq!([one, two].map(|hash| hash.partition(partitions)), [expect; 2], "{key}");
            }
        }
    }
}
