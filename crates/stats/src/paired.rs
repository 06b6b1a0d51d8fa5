//! Two things measured in turn, compared pair by pair.
//!
//! Machines drift by more than the differences of interest, but little from one trial to the next. Runs of A and B
//! are therefore interleaved in a random order, and each pair gives one ratio, from which the drift cancels. A
//! disturbance hits either side with the same probability: it widens the interval and pulls the ratio towards 1.

use crate::bootstrap::Interval;
use crate::signed_rank::SignedRank;

/// The default two-sided error of intervals and tests.
///
/// Source: the usual 5 %.
pub const LEVEL: f64 = 0.05;

/// How much larger A is than B, from pairs of measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The number of pairs.
    pub n: usize,
    /// The Hodges–Lehmann estimate of A/B: below 1 where A is smaller.
    pub ratio: f64,
    /// The interval of the ratio; `None` with fewer than [`fewest`](crate::fewest) pairs.
    pub interval: Option<Interval>,
    /// The two-sided p-value of "A and B are alike"; `None` without an interval.
    pub p_value: Option<f64>,
}

impl Paired {
    /// Compares `a[i]` with `b[i]` at a two-sided error of [`LEVEL`].
    ///
    /// Bounds: as [`Paired::compare_at`].
    pub fn compare(a: &[f64], b: &[f64]) -> Option<Paired> {
        Paired::compare_at(a, b, LEVEL)
    }

    /// Compares `a[i]` with `b[i]` at the two-sided error `level`.
    ///
    /// Bounds: `None` without pairs, for slices of different lengths, and for a value that is not positive and finite.
    pub fn compare_at(a: &[f64], b: &[f64], level: f64) -> Option<Paired> {
        let usable = |values: &[f64]| values.iter().all(|v| *v > 0.0 && v.is_finite());
        if a.len() != b.len() || !usable(a) || !usable(b) {
            return None;
        }
        // Logarithms, so that twice as long and half as long weigh the same.
        let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
        let ranks = SignedRank::of(&logs)?;
        let interval = ranks.interval(level);
        let alike = Interval { low: 0.0, high: 0.0 };
        Some(Paired {
            n: ranks.n(),
            ratio: ranks.estimate().exp(),
            interval: interval.map(Interval::exp),
            p_value: interval.map(|_| (2.0 * ranks.p_outside(alike)).min(1.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_the_ratio_under_a_drift() {
        // B drifts threefold over the run and A is always 10 % less: unpaired, the ranges overlap.
        let b: Vec<f64> = (0..8).map(|i| 100.0 * (1.0 + f64::from(i) / 3.5)).collect();
        let a: Vec<f64> =
            b.iter().enumerate().map(|(i, b)| b * (0.9 + 0.01 * (i % 3) as f64 - 0.01)).collect();
        let paired = Paired::compare(&a, &b).unwrap();
        let interval = paired.interval.unwrap();
        assert!((paired.ratio - 0.9).abs() < 0.006, "{paired:?}");
        assert!(interval.contains(0.9) && interval.high < 0.92 && interval.low > 0.88, "{paired:?}");
        assert_eq!(paired.p_value, Some(2.0 / 256.0));
    }

    #[test]
    fn a_disturbed_pair_widens_and_does_not_turn() {
        let mut a = vec![0.5; 9];
        // One side of two pairs was disturbed tenfold.
        (a[3], a[7]) = (5.0, 0.05);
        let paired = Paired::compare(&a, &[1.0; 9]).unwrap();
        assert!((paired.ratio - 0.5).abs() < 1e-12, "{paired:?}");
        assert!(paired.interval.unwrap().contains(0.5) && paired.interval.unwrap().high > 0.5, "{paired:?}");
    }

    #[test]
    fn judges_nothing_from_too_few_or_unusable_pairs() {
        let few = Paired::compare(&[1.0; 5], &[2.0; 5]).unwrap();
        assert_eq!((few.n, few.interval, few.p_value), (5, None, None));
        assert!((few.ratio - 0.5).abs() < 1e-12);
        assert!(Paired::compare_at(&[1.0; 5], &[2.0; 5], 0.1).unwrap().interval.is_some());
        let check = |a: &[f64], b: &[f64]| assert_eq!(Paired::compare(a, b), None, "{a:?} {b:?}");
        check(&[], &[]);
        check(&[1.0], &[1.0, 2.0]);
        check(&[0.0], &[1.0]);
        check(&[1.0], &[-1.0]);
        check(&[f64::NAN], &[1.0]);
        check(&[1.0], &[f64::INFINITY]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn swapping_inverts_and_the_order_of_pairs_is_nothing(pairs in prop::collection::vec((1e-3..1e3f64, 1e-3..1e3f64), 6..12)) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            let (c, d): (Vec<f64>, Vec<f64>) = pairs.iter().rev().copied().unzip();
            let (forth, back, reversed) =
                (Paired::compare(&a, &b).unwrap(), Paired::compare(&b, &a).unwrap(), Paired::compare(&c, &d).unwrap());
            prop_assert!((forth.ratio * back.ratio - 1.0).abs() < 1e-9);
            prop_assert_eq!(forth.p_value, back.p_value);
            prop_assert_eq!(forth.p_value, reversed.p_value);
            prop_assert!((forth.ratio / reversed.ratio - 1.0).abs() < 1e-9);
            prop_assert!(forth.interval.unwrap().contains(forth.ratio));
        }
    }
}
