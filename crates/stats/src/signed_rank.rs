//! The centre of paired differences by Wilcoxon's signed-rank test: estimate, exact interval, tests against bounds.
//!
//! The test assumes that the differences are independent and symmetric about their centre, and nothing about their
//! shape or variance: a few outliers move the estimate little. Two things measured in a random order have symmetric
//! differences if they are alike.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::bootstrap::Interval;
use crate::median::median_of;

/// Up to this many differences the distribution of the rank sum is computed; beyond, it is approximated by the normal
/// one.
///
/// Source: at 60 the two differ by less than 0.0004 where probabilities are below 5 %
/// (`the_normal_distribution_takes_over_smoothly`).
const EXACT: usize = 60;

/// The signed-rank analysis of differences.
#[derive(Clone, Debug)]
pub struct SignedRank {
    n: usize,
    /// The Walsh averages, sorted: the means of all pairs of differences, each with itself included. The number of
    /// averages above a bound is the sum of the ranks of the differences above it.
    walsh: Vec<f64>,
    /// Entry t is the probability that the positive ranks sum to t or less when the centre is 0.
    at_most: Vec<f64>,
}

impl SignedRank {
    /// Analyses differences, such as logarithms of ratios.
    ///
    /// Bounds: `None` for an empty slice or a value that is not finite. Cost: O(n² log n).
    pub fn of(differences: &[f64]) -> Option<SignedRank> {
        let n = differences.len();
        if n == 0 || !differences.iter().all(|d| d.is_finite()) {
            return None;
        }
        let with = |i: usize| differences[i..].iter().map(move |other| differences[i].midpoint(*other));
        let mut walsh: Vec<f64> = (0..n).flat_map(with).collect();
        walsh.sort_unstable_by(f64::total_cmp);
        Some(SignedRank { n, walsh, at_most: rank_sums(n) })
    }

    /// The number of differences.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The estimate of the centre: the median of the Walsh averages.
    ///
    /// Source: Hodges and Lehmann, *Estimates of Location Based on Rank Tests*, Annals of Mathematical Statistics 34, 1963.
    pub fn estimate(&self) -> f64 {
        median_of(&mut self.walsh.clone())
    }

    /// The interval of the centre at a two-sided error `level`, such as 0.05: all values that the test does not reject.
    ///
    /// Bounds: `None` under [`fewest`] differences, and for a level outside of 0 to 1.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        if level.is_nan() || level >= 1.0 {
            return None;
        }
        let rejected = self.at_most.partition_point(|chance| *chance <= level / 2.0);
        let low = rejected.checked_sub(1)?;
        Some(Interval { low: self.walsh[low], high: self.walsh[self.walsh.len() - rejected] })
    }

    /// The one-sided p-value for "the centre lies within `range`", ends included. With one infinite end this tests against
    /// a bound; with two finite ends it is the two one-sided tests of equivalence. It is at most `level / 2` exactly when
    /// `interval(level)` lies within `range`.
    pub fn p_within(&self, range: Interval) -> f64 {
        let below = self.walsh.partition_point(|w| *w < range.low);
        let above = self.walsh.len() - self.walsh.partition_point(|w| *w <= range.high);
        self.at_most[below].max(self.at_most[above])
    }

    /// The one-sided p-value for "the centre lies outside of `range`". It is at most `level / 2` exactly when
    /// `interval(level)` has no value in common with `range`.
    pub fn p_outside(&self, range: Interval) -> f64 {
        let from_low = self.walsh.len() - self.walsh.partition_point(|w| *w < range.low);
        let to_high = self.walsh.partition_point(|w| *w <= range.high);
        self.at_most[from_low].min(self.at_most[to_high])
    }

    /// An estimate of the total number of differences whose interval at `level` lies within or outside of `range`, as the
    /// width shrinks with 1/√n. `None` if the estimate lies on an end of `range`.
    pub fn needed(&self, range: Interval, level: f64) -> Option<usize> {
        // With too few differences, start from the interval at the smallest attainable level.
        let interval = self.interval(level.max(2.0 * self.at_most[0])).unwrap_or_else(|| self.range());
        Some(needed(self.n, self.estimate(), interval, range)?.max(fewest(level)))
    }

    /// The largest attainable two-sided level of `n` differences up to `level`; 0 if there is none.
    pub(crate) fn attained(n: usize, level: f64) -> f64 {
        if n > EXACT {
            return level;
        }
        let chances = rank_sums(n);
        let rejected = chances.partition_point(|chance| *chance <= level / 2.0);
        rejected.checked_sub(1).map_or(0.0, |last| 2.0 * chances[last])
    }

    /// From the least to the largest difference.
    pub fn range(&self) -> Interval {
        Interval { low: self.walsh[0], high: self.walsh[self.walsh.len() - 1] }
    }
}

/// The smallest number of differences with an interval at `level`: n of them attain no level below 2/2ⁿ.
pub fn fewest(level: f64) -> usize {
    (1 - level.log2().floor() as i64).max(1) as usize
}

/// An estimate of the total number of differences whose interval lies within or outside of `range`, from the estimate and
/// the interval of `n` differences. `None` if the estimate lies on an end of `range`.
pub fn needed(n: usize, estimate: f64, interval: Interval, range: Interval) -> Option<usize> {
    // The interval's width towards a bound, over the distance of the bound.
    let reach = |bound: f64| {
        let (width, away) = match bound > estimate {
            true => (interval.high - estimate, bound - estimate),
            false => (estimate - interval.low, estimate - bound),
        };
        if width <= 0.0 { 0.0 } else { width / away }
    };
    let (low, high) = (reach(range.low), reach(range.high));
    let reach = match range.contains(estimate) {
        true => low.max(high),
        false if estimate < range.low => low,
        false => high,
    };
    let all = (n as f64 * reach * reach).ceil();
    all.is_finite().then(|| (all as usize).max(1))
}

/// The cumulative distribution of the sum of the positive ranks of `n` differences whose centre is 0, by t from 0 on.
fn rank_sums(n: usize) -> Vec<f64> {
    let most = n * (n + 1) / 2;
    if n > EXACT {
        let n = n as f64;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        let normal = Normal::standard();
        return (0..=most).map(|t| normal.cdf((t as f64 + 0.5 - most as f64 / 2.0) / deviation)).collect();
    }
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for rank in 1..=n {
        for t in (0..=most).rev() {
            let without = chances[t];
            let with = if t >= rank { chances[t - rank] } else { 0.0 };
            chances[t] = 0.5 * (without + with);
        }
    }
    let mut sum = 0.0;
    for chance in &mut chances {
        sum += *chance;
        *chance = sum;
    }
    chances
}

#[cfg(test)]
pub(crate) mod tests;
