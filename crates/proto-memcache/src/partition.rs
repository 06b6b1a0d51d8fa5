//! Which partition of a cache a key belongs to, where more than the cache has to know: a client that asks the owner of
//! each key directly, and a program in the kernel that hands each datagram to its owner.
//!
//! The hash is MurmurHash3 of 32 bits with seed 0, which clients find in a library of their language. Its seed is no
//! secret: a client that may store can choose keys of one partition, as with any sharding that clients do.

/// Bits of the hash that choose a partition: the rest of 64 after an index's own; with up to 256 partitions their
/// shares differ by at most 0.03 %.
pub const BITS: u32 = 20;

/// First and second multiplier, and the addend for each word. Source: Austin Appleby, `MurmurHash3.cpp`.
pub const MIX: [u32; 3] = [0xcc9e_2d51, 0x1b87_3593, 0xe654_6b64];
/// Multipliers of the end. Source: the same.
pub const END: [u32; 2] = [0x85eb_ca6b, 0xc2b2_ae35];

/// The hash of `key`.
///
/// Cost: about 1 ns for each 4 B.
#[inline]
pub fn hash(key: &[u8]) -> u32 {
    let mix = |word: u32| word.wrapping_mul(MIX[0]).rotate_left(15).wrapping_mul(MIX[1]);
    let (words, rest) = key.as_chunks::<4>();
    let mut hash = 0u32;
    for word in words {
        hash ^= mix(u32::from_le_bytes(*word));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(MIX[2]);
    }
    let last = rest.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    hash ^= mix(last);
    hash ^= key.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(END[0]);
    hash = (hash ^ hash >> 13).wrapping_mul(END[1]);
    hash ^ hash >> 16
}

/// Which of `partitions` a key belongs to: the upper [`BITS`] of its hash as a fraction of their range.
///
/// Bounds: 1 to 4096 partitions.
#[inline]
pub fn of(key: &[u8], partitions: usize) -> usize {
    ((hash(key) >> (32 - BITS)) as usize * partitions) >> BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: computed with Appleby's C++ by way of PyPI's `mmh3`, `mmh3.hash(key, 0, signed=False)`.
    #[test]
    fn published_values() {
        for (key, expect) in [
            ("", 0),
            ("a", 0x3c25_69b2),
            ("abc", 0xb3dd_93fa),
            ("hello", 0x248b_fa47),
            ("hello, world", 0x149b_bb7f),
            ("The quick brown fox jumps over the lazy dog", 0x2e4f_f723),
        ] {
            assert_eq!(hash(key.as_bytes()), expect, "{key}");
        }
    }

    #[test]
    fn every_partition_gets_its_share() {
        for partitions in [1, 2, 3, 7, 40, 256] {
            for form in [|i: u32| format!("{i}"), |i| format!("user:{i:012}:profile")] {
                let mut counts = vec![0u32; partitions];
                (0..2_000 * partitions as u32).for_each(|i| counts[of(form(i).as_bytes(), partitions)] += 1);
                // 6 standard deviations of a binomial of mean 2000 are about 270.
                assert!(counts.iter().all(|count| count.abs_diff(2_000) < 270), "{partitions}: {counts:?}");
            }
        }
    }
}
