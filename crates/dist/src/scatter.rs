//! A permutation of 0 … n − 1, so that popular keys do not lie next to each other.
//!
//! Ranks come out of a sampler with the most popular first. Used as key numbers they would put the hot
//! keys into one partition, one segment and one page. A hash would scatter them too, but lets them
//! collide: of n ranks hashed to n keys, 37 % (1/e) of the keys are never asked for and the others more
//! often than was configured. A permutation keeps the configured popularity.
//!
//! Try it: `cargo test -p dist scatter`.

use crate::streams::finalize;

/// A permutation of 0 … n − 1, chosen by a seed.
///
/// Cost: at most two passes on average, each of three multiplications; no table.
/// Source: cycle walking, Black and Rogaway, *Ciphers with arbitrary finite domains*, CT-RSA 2002, over
/// rounds of multiplication and shift as in the finalizer of SplitMix64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
    factors: [u64; 3],
    offset: u64,
}

impl Scatter {
    /// The permutation of 0 … `n` − 1 that belongs to a seed.
    pub fn new(n: u64, seed: u64) -> Scatter {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        let key = |i: u64| finalize(seed ^ finalize(i));
        Scatter {
            n,
            mask: if bits == 64 { u64::MAX } else { (1 << bits) - 1 },
            // A shift of at least 1 keeps x ^ (x >> shift) reversible; half of the width carries high bits furthest.
            shift: (bits / 2).max(1),
            // Odd factors are the reversible ones modulo a power of two.
            factors: [key(1) | 1, key(2) | 1, key(3) | 1],
            offset: key(4),
        }
    }

    /// The image of `i`. Bounds: `i` below n, and so is the result.
    #[inline]
    pub fn apply(&self, i: u64) -> u64 {
        debug_assert!(i < self.n);
        // The rounds permute the next power of two. Following them from a point inside of 0..n until they
        // are inside again permutes 0..n: the point that was left is on the same cycle.
        let mut x = i;
        loop {
            x = self.round(x);
            if x < self.n {
                return x;
            }
        }
    }

    #[inline]
    fn round(&self, mut x: u64) -> u64 {
        x = x.wrapping_add(self.offset) & self.mask;
        for factor in self.factors {
            x = x.wrapping_mul(factor) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_two_go_to_one_place(n in 1u64..5_000, seed in any::<u64>()) {
            let scatter = Scatter::new(n, seed);
            let mut taken = vec![false; n as usize];
            for i in 0..n {
                let place = scatter.apply(i) as usize;
                prop_assert!(place < n as usize && !std::mem::replace(&mut taken[place], true));
            }
        }

        #[test]
        fn a_large_range_stays_inside(n in 1u64 << 32..1 << 40, seed in any::<u64>(), part in 0.0..1.0f64) {
            prop_assert!(Scatter::new(n, seed).apply((n as f64 * part) as u64) < n);
        }
    }

    #[test]
    fn neighbours_are_parted() {
        // Of 1 000 random pairs of places among 10⁶ about 1 000 × 2 × 1 000 / 10⁶ = 2 are under 1 000 apart.
        for seed in 0..20 {
            let scatter = Scatter::new(1_000_000, seed);
            let near =
                (0..1_000).filter(|&i| scatter.apply(i).abs_diff(scatter.apply(i + 1)) < 1_000).count();
            assert!(near <= 12, "seed {seed}: {near} of 1 000 neighbours stayed together");
        }
    }

    #[test]
    fn seeds_differ() {
        let places = |seed| (0..100).map(|i| Scatter::new(1_000, seed).apply(i)).collect::<Vec<_>>();
        assert_eq!(places(1), places(1));
        assert_ne!(places(1), places(2));
    }
}
