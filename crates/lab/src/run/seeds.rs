//! The seeds of trials, all from one seed.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use results::Purpose;

/// A seed is kept below this, so that readers of JSON that know only floating-point numbers read it right.
const EXACT_IN_JSON: u64 = 1 << 53;

/// Follows the numbers of purposes.
const ORDER: u64 = 4;

/// Random numbers derived from the seed of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds(pub(crate) u64);

impl Seeds {
    /// The seed of the `n`-th trial of its purpose in a block.
    ///
    /// It does not depend on the target: two that are compared get the same arrivals and keys.
    pub(crate) fn trial(self, block: u32, purpose: Purpose, n: usize) -> u64 {
        let purpose = match purpose {
            Purpose::Single => 0,
            Purpose::MaxSearch => 1,
            Purpose::LoadPoint => 2,
            Purpose::PeakSearch => 3,
        };
        self.stream(&[u64::from(block), purpose, n as u64]).random_range(0..EXACT_IN_JSON)
    }

    /// A random order of `targets` for the `n`-th step of a block, so that a disturbance favours no target.
    pub(crate) fn order(self, block: u32, n: usize, targets: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..targets).collect();
        order.shuffle(&mut self.stream(&[u64::from(block), ORDER, n as u64]));
        order
    }

    fn stream(self, path: &[u64]) -> Xoshiro256PlusPlus {
        path.iter().fold(Xoshiro256PlusPlus::seed_from_u64(self.0), |mut rng, step| {
            Xoshiro256PlusPlus::seed_from_u64(rng.random::<u64>() ^ step)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn either_of_two_targets_is_the_first_about_as_often() {
        let first = (0..400).filter(|n| Seeds(7).order(n / 20, *n as usize % 20, 2)[0] == 0).count();
        // 200 ± 10.
        assert!((160..=240).contains(&first), "{first}");
        assert_eq!(Seeds(7).order(3, 1, 2), Seeds(7).order(3, 1, 2));
    }

    #[test]
    fn trials_have_seeds_of_their_own_that_repeat() {
        let all = |seed: u64| -> Vec<u64> {
            let purposes = [Purpose::MaxSearch, Purpose::LoadPoint, Purpose::PeakSearch];
            let each = |block| {
                purposes.iter().flat_map(move |p| (0..20).map(move |n| Seeds(seed).trial(block, *p, n)))
            };
            (0..4).flat_map(each).collect()
        };
        let seeds = all(7);
        assert_eq!(seeds.iter().collect::<HashSet<_>>().len(), 240);
        assert_eq!(seeds, all(7));
        assert_ne!(seeds, all(8));
        assert!(seeds.iter().all(|seed| *seed < EXACT_IN_JSON));
    }
}
