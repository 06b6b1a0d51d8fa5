//! Whether a series rises or falls, and by how much.
//!
//! A backlog that grows means overload, a response time that falls means that the warm-up was too short.
//! Both series are far from normal and full of outliers, so the test and the slope are by ranks and medians.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::median::median_of;

/// The fewest values for a test.
///
/// Source: the normal approximation of the Mann–Kendall statistic is good from 10 on: Kendall, *Rank
/// Correlation Methods*, 4th ed., 1975.
const MIN_VALUES: usize = 10;

/// Beyond this many values, the slope is that of medians of equal blocks, since pairs grow with the square.
const MAX_VALUES: usize = 2_000;

/// The trend of a series of equally spaced values.
///
/// Source: Mann, Econometrica 13(3), 1945, and Kendall (with ties) for the test; Theil, 1950, and Sen, JASA
/// 63, 1968, for the slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The number of values.
    pub n: usize,
    /// Kendall's S over its largest value, from −1 (each value below all before it) to 1.
    pub tau: f64,
    /// The chance of a trend at least as clear, in either direction, in a series without one.
    ///
    /// It assumes that the values are independent. Autocorrelated values, such as those near a queue's limit, make it
    /// too small; so judge by [`Trend::rise`] as well.
    pub p_value: f64,
    /// The median slope of all pairs, in units of the values for each step.
    pub slope: f64,
}

impl Trend {
    /// The trend of `series`. `None` under 10 values or with one that is not finite.
    ///
    /// Cost: the square of the number of values, 20 ms and 16 MB for 2 000; a longer series is first reduced to the
    /// medians of at most 2 000 blocks.
    pub fn of(series: &[f64]) -> Option<Trend> {
        if series.len() < MIN_VALUES || !series.iter().all(|v| v.is_finite()) {
            return None;
        }
        let block = series.len().div_ceil(MAX_VALUES);
        let values: Vec<f64> = series.chunks(block).map(|chunk| median_of(&mut chunk.to_vec())).collect();
        let n = values.len();
        let pairs = || (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        let s: i64 =
            pairs().map(|(i, j)| i64::from(values[j] > values[i]) - i64::from(values[j] < values[i])).sum();
        let mut slopes: Vec<f64> = pairs().map(|(i, j)| (values[j] - values[i]) / (j - i) as f64).collect();
        Some(Trend {
            n: series.len(),
            tau: s as f64 / slopes.len() as f64,
            p_value: p_value(s, &values),
            slope: median_of(&mut slopes) / block as f64,
        })
    }

    /// How far the series rose from its first value to its last, by the median slope.
    pub fn rise(&self) -> f64 {
        self.slope * (self.n - 1) as f64
    }
}

/// The two-sided chance of a Kendall's S this far from 0.
fn p_value(s: i64, values: &[f64]) -> f64 {
    let weight = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tied| weight(tied.len() as f64)).sum();
    let variance = (weight(values.len() as f64) - ties) / 18.0;
    // All values alike: no trend, and no variance to measure one by.
    if variance <= 0.0 {
        return 1.0;
    }
    // S moves in steps of 2, so half a step is taken off: the continuity correction.
    let z = (s.abs() - 1).max(0) as f64 / variance.sqrt();
    2.0 * Normal::standard().sf(z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::RngExt;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn agrees_with_the_formula_by_hand() {
        let check = |series: &[f64], tau: f64, z: f64, slope: f64| {
            let trend = Trend::of(series).unwrap();
            let p = 2.0 * Normal::standard().sf(z);
            assert!((trend.tau - tau).abs() < 1e-12, "{trend:?}");
            assert!((trend.p_value - p).abs() < 1e-12, "{trend:?}: {p}");
            assert!((trend.slope - slope).abs() < 1e-12, "{trend:?}");
        };
        let rising: Vec<f64> = (0..10).map(|i| 3.0 + 2.0 * f64::from(i)).collect();
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        // S = ±45, variance = 10 × 9 × 25 / 18 = 125.
        check(&rising, 1.0, 44.0 / 125f64.sqrt(), 2.0);
        check(&falling, -1.0, 44.0 / 125f64.sqrt(), -2.0);
        // Five pairs of ties: S = 40, variance = (2 250 − 5 × 2 × 1 × 9) / 18 = 120.
        let tied: Vec<f64> = (0..10).map(|i| f64::from(i / 2)).collect();
        check(&tied, 40.0 / 45.0, 39.0 / 120f64.sqrt(), 0.5);
        check(&[7.0; 12], 0.0, 0.0, 0.0);
        // One exchange of neighbours takes 2 off S.
        check(&[2.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0], 43.0 / 45.0, 42.0 / 125f64.sqrt(), 1.0);
    }

    #[test]
    fn an_outlier_does_not_bend_the_slope() {
        let mut series: Vec<f64> = (0..50).map(f64::from).collect();
        series[48] = 1e6;
        let trend = Trend::of(&series).unwrap();
        assert!((trend.slope - 1.0).abs() < 0.05 && (trend.rise() - 49.0).abs() < 2.5, "{trend:?}");
    }

    #[test]
    fn finds_trends_and_no_others() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let mut found = |slope: f64| {
            (0..400)
                .filter(|_| {
                    let series: Vec<f64> =
                        (0..40).map(|i| rng.random::<f64>() + slope * f64::from(i)).collect();
                    Trend::of(&series).unwrap().p_value < 0.05
                })
                .count()
        };
        // 5 % of 400 are 20 ± 4.4.
        assert!((5..=38).contains(&found(0.0)));
        assert!(found(0.02) > 390);
    }

    #[test]
    fn a_long_series_is_reduced_and_keeps_its_slope() {
        let series: Vec<f64> = (0..9_000).map(|i| f64::from(i) * 0.25).collect();
        let trend = Trend::of(&series).unwrap();
        assert!((trend.slope - 0.25).abs() < 1e-9 && trend.tau == 1.0 && trend.n == 9_000, "{trend:?}");
    }

    #[test]
    fn refuses_too_few_and_unusable_values() {
        assert_eq!(Trend::of(&[1.0; 9]), None);
        assert!(Trend::of(&[1.0; 10]).is_some());
        for bad in [f64::NAN, f64::INFINITY] {
            let mut series = [1.0; 12];
            series[5] = bad;
            assert_eq!(Trend::of(&series), None);
        }
    }

    proptest! {
        #[test]
        fn turning_it_around_turns_the_sign(series in prop::collection::vec(-1e3..1e3f64, 10..60), shift in -1e3..1e3f64) {
            let forth = Trend::of(&series).unwrap();
            let back = Trend::of(&series.iter().rev().copied().collect::<Vec<_>>()).unwrap();
            prop_assert_eq!((forth.tau, forth.p_value), (-back.tau, back.p_value));
            prop_assert!((forth.slope + back.slope).abs() < 1e-9);
            let shifted = Trend::of(&series.iter().map(|v| v + shift).collect::<Vec<_>>()).unwrap();
            prop_assert!((forth.slope - shifted.slope).abs() < 1e-6);
            prop_assert!((0.0..=1.0).contains(&forth.p_value));
        }
    }
}
