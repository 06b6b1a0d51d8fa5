//! A few repeats of one figure, and their summary.

use crate::bootstrap::{Interval, bootstrap};
use crate::median::median_of;

/// The fewest repeats from which a difference is judged.
///
/// Source: 6 is the least for which any rule without assumptions reaches 95 %: the range of 6 holds the
/// median with 1 − 2/2⁶ = 96.9 %, that of 5 with 93.8 %; and 6 pairs that all agree have p = 2/2⁶ = 3.1 %.
pub const MIN_TO_JUDGE: usize = 6;

/// The seed of every interval, so that the same values always have the same one.
const SEED: u64 = 0x7461_696c;

/// The repeats of one figure in short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The number of repeats.
    pub n: usize,
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
    /// The 95 % interval of the median; `None` under [`MIN_TO_JUDGE`] repeats.
    pub interval: Option<Interval>,
}

impl Spread {
    /// The spread of values. `None` when there is none, or one that is not finite.
    ///
    /// Cost: some milliseconds, from 6 values on.
    pub fn of(values: &[f64]) -> Option<Spread> {
        if values.is_empty() || !values.iter().all(|v| v.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        let interval = if n >= MIN_TO_JUDGE { bootstrap(&sorted, median_of, 0.95, SEED) } else { None };
        let (min, max) = (sorted[0], sorted[n - 1]);
        Some(Spread { n, median: median_of(&mut sorted), min, max, interval })
    }

    /// The ends of the error bar: the 95 % interval of the median, or the range if the repeats are too few for an
    /// interval.
    pub fn ends(&self) -> (f64, f64) {
        self.interval.map_or((self.min, self.max), |interval| (interval.low, interval.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn refuses_what_is_not_finite() {
        let check = |values: &[f64]| assert_eq!(Spread::of(values), None, "{values:?}");
        check(&[]);
        check(&[f64::NAN]);
        check(&[1.0, f64::INFINITY]);
    }

    #[test]
    fn one_outlier_does_not_move_the_median() {
        let spread = Spread::of(&[10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 1_000.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max), (13.0, 10.0, 1_000.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn ignores_the_order_and_keeps_the_order_of_its_figures(values in prop::collection::vec(-1e6..1e6f64, 1..12)) {
            let spread = Spread::of(&values).unwrap();
            let reversed: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert_eq!(Spread::of(&reversed), Some(spread));
            prop_assert!(spread.min <= spread.median && spread.median <= spread.max);
            prop_assert_eq!(spread.interval.is_some(), values.len() >= 6);
            if let Some(Interval { low, high }) = spread.interval {
                prop_assert!(spread.min <= low && low <= spread.median && spread.median <= high && high <= spread.max);
            }
        }
    }
}
