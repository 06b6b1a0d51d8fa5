//! Sequential comparison: when to look at the pairs measured so far, and at which error.
//!
//! Testing at 5 % after every pair eventually finds a difference between equal things. Each look therefore has its own
//! error, fixed in advance, and the errors of all looks sum to at most the total. By the union bound the intervals of all
//! looks cover the truth together with at least 1 − total, for any reason to stop the run.

use crate::signed_rank::SignedRank;

/// Pairs at the first look.
const FIRST: usize = 4;
/// Each look may spend this share of the error that earlier looks left.
///
/// Source: half of the error is available by the third look, at 9 pairs, the first that attains a useful level; the
/// tenth, at 141 pairs, still has 0.1 %.
const SPENT: f64 = 0.2;

/// One look at the pairs so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The number of pairs.
    pub pairs: usize,
    /// The two-sided error of intervals and tests; 0 if no level that may be spent is attainable with this few pairs.
    pub level: f64,
}

/// An endless sequence of looks after 4, 6, 9, 13, 19, 28 … pairs, each with half as many more as the last.
///
/// The signed-rank test attains only certain levels, none below 2/2ⁿ with n pairs. The error that a look may spend but
/// cannot attain is carried over to the next.
#[derive(Clone, Debug)]
pub struct Looks {
    next: usize,
    /// Error that no look has been given yet.
    left: f64,
    /// Error given to earlier looks and not attained.
    carried: f64,
}

impl Looks {
    /// Looks with a total two-sided error of `error`, such as 0.05.
    pub fn new(error: f64) -> Looks {
        Looks { next: FIRST, left: error, carried: 0.0 }
    }

    /// The level for a run that stopped after `pairs`: of the look at that number, or of the next look, taken early. Looks
    /// that attain no level count as not taken.
    pub fn level(self, pairs: usize) -> f64 {
        let mut looks = self;
        looks.find(|look| look.pairs >= pairs && look.level > 0.0).map_or(0.0, |look| look.level)
    }
}

impl Iterator for Looks {
    type Item = Look;

    fn next(&mut self) -> Option<Look> {
        let share = SPENT * self.left;
        let may = self.carried + share;
        let level = SignedRank::attained(self.next, may);
        let look = Look { pairs: self.next, level };
        (self.left, self.carried) = (self.left - share, may - level);
        self.next += self.next / 2;
        Some(look)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Interval;
    use crate::signed_rank::tests::draw;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn levels_are_known_beforehand_and_sum_to_the_error() {
        let looks: Vec<Look> = Looks::new(0.05).take(10).collect();
        let pairs: Vec<usize> = looks.iter().map(|look| look.pairs).collect();
        assert_eq!(pairs, [4, 6, 9, 13, 19, 28, 42, 63, 94, 141]);
        // The smallest levels are 12.5 % with 4 pairs and 3.1 % with 6: their shares are carried over to the third look.
        assert_eq!((looks[0].level, looks[1].level, looks[2].level), (0.0, 0.0, 10.0 / 512.0));
        assert!(looks[3..].iter().all(|look| look.level > 0.0), "{looks:?}");
        assert!(looks[9].level > 0.001, "{looks:?}");
        let level = |pairs: usize| Looks::new(0.05).level(pairs);
        assert_eq!((level(9), level(10), level(13)), (looks[2].level, looks[3].level, looks[3].level));
        assert_eq!(level(0), looks[2].level);
        let sum: f64 = Looks::new(0.05).take(30).map(|look| look.level).sum();
        assert!(sum > 0.049 && sum <= 0.05, "{sum}");
    }

    /// How many of `runs` comparisons of equal things end with "different", if each stops at the first look whose interval
    /// excludes 0 or lies within ±0.05.
    fn missed(seed: u64, heavy: bool, runs: usize) -> usize {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let looks: Vec<Look> = Looks::new(0.05).take(7).collect();
        let run = |_: &usize| {
            let pairs = draw(&mut rng, looks.last().unwrap().pairs, heavy);
            let at = |look: &Look| SignedRank::of(&pairs[..look.pairs]).unwrap().interval(look.level);
            let settled = |interval: &Interval| {
                !interval.contains(0.0) || interval.low >= -0.05 && interval.high <= 0.05
            };
            let mut intervals = looks.iter().filter_map(at);
            intervals.find(settled).is_some_and(|interval| !interval.contains(0.0))
        };
        (0..runs).filter(run).count()
    }

    #[test]
    fn alike_is_called_different_in_at_most_one_run_of_twenty() {
        for (seed, heavy) in [(31, true), (32, false)] {
            let runs = 600;
            let missed = missed(seed, heavy, runs);
            // 5 % of 600 are 30 ± 5.3.
            assert!(missed <= 30 + 16, "seed {seed}, heavy {heavy}: {missed} of {runs}");
        }
    }
}
