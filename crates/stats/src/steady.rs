//! Whether a measurement was in the same state from its beginning to its end.

use std::fmt;

use crate::median::median_of;
use crate::trend::Trend;

/// A trend is called one when chance would show as clear a one this rarely.
///
/// Source: a study has hundreds of trials, so 5 % would call several of them unsteady by chance alone; and
/// windows resemble their neighbours, which makes p-values too small.
const SIGNIFICANT: f64 = 0.01;

/// The figures by which a series of windows is called steady or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steadiness {
    /// The trend over the series.
    pub trend: Trend,
    /// The median of the first half.
    pub first_half: f64,
    /// The median of the second half; with an odd number, the middle value is in neither.
    pub second_half: f64,
    /// The difference between the halves that was allowed, as a share of the smaller one.
    pub tolerance: f64,
}

impl Steadiness {
    /// The steadiness of a series, such as the p99 of each window, with halves allowed to differ by
    /// `tolerance`, such as 0.1.
    ///
    /// Bounds: `None` under 10 values, or with one that is negative or not finite.
    pub fn of(series: &[f64], tolerance: f64) -> Option<Steadiness> {
        if series.iter().any(|v| *v < 0.0) {
            return None;
        }
        let trend = Trend::of(series)?;
        let half = series.len() / 2;
        let first_half = median_of(&mut series[..half].to_vec());
        let second_half = median_of(&mut series[series.len() - half..].to_vec());
        Some(Steadiness { trend, first_half, second_half, tolerance })
    }

    /// By how much the halves differ, as a share of the smaller one: 0 if they agree, infinite if one is 0.
    pub fn difference(&self) -> f64 {
        let (low, high) = (self.first_half.min(self.second_half), self.first_half.max(self.second_half));
        if low == high { 0.0 } else { (high - low) / low }
    }

    /// Whether the series is steady: no trend that is clear *and* large enough to matter.
    ///
    /// Neither suffices alone: a long series shows a clear trend of 0.1 %, and the halves of a short noisy
    /// one differ by chance.
    pub fn is_steady(&self) -> bool {
        self.trend.p_value >= SIGNIFICANT || self.difference() <= self.tolerance
    }
}

impl fmt::Display for Steadiness {
    /// `the second half's median is 1.52 times the first's, trend p = 0.0003`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = self.second_half / self.first_half;
        write!(
            f,
            "the second half's median is {ratio:.2} times the first's, trend p = {:.1e}",
            self.trend.p_value
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    /// 60 values with 10 % of noise around `shape(0..1)`.
    fn noisy(shape: fn(f64) -> f64) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        (0..60).map(|i| shape(f64::from(i) / 60.0) * (0.95 + 0.1 * rng.random::<f64>())).collect()
    }

    #[test]
    fn calls_steady_what_is() {
        let check = |shape: fn(f64) -> f64, steady: bool| {
            let judged = Steadiness::of(&noisy(shape), 0.1).unwrap();
            assert_eq!(judged.is_steady(), steady, "{judged:?}");
            judged
        };
        check(|_| 100.0, true);
        let slight = check(|x| 100.0 + 12.0 * x, true); // but of 6 % between the halves
        assert!(slight.trend.p_value < SIGNIFICANT, "{slight:?}");
        check(|x| 100.0 + 40.0 * x, false);
        check(|x| 100.0 / (0.2 + x), false); // a warm-up that was too short
        check(|x| if x < 0.5 { 100.0 } else { 150.0 }, false); // a step
        check(|x| if (0.4..0.45).contains(&x) { 10_000.0 } else { 100.0 }, true); // a stall
        check(|x| 100.0 + 50.0 * (x * 40.0).sin(), true); // up and down
    }

    #[test]
    fn halves_that_differ_by_chance_are_steady() {
        let series = [100.0, 140.0, 80.0, 120.0, 60.0, 150.0, 90.0, 160.0, 100.0, 170.0, 70.0, 150.0];
        let judged = Steadiness::of(&series, 0.1).unwrap();
        assert!(judged.difference() > 0.13 && judged.is_steady(), "{judged:?}");
    }

    #[test]
    fn the_figures_are_those_of_the_halves() {
        let series: Vec<f64> = (1..=11).map(f64::from).collect();
        let judged = Steadiness::of(&series, 0.1).unwrap();
        assert_eq!((judged.first_half, judged.second_half, judged.difference()), (3.0, 9.0, 2.0));
        assert!(
            judged.to_string().starts_with("the second half's median is 3.00 times the first's, trend p =")
        );
        let backwards: Vec<f64> = series.into_iter().rev().collect();
        assert_eq!(Steadiness::of(&backwards, 0.1).unwrap().difference(), 2.0);
    }

    #[test]
    fn zero_is_a_value() {
        let judged = Steadiness::of(&[0.0; 20], 0.1).unwrap();
        assert!(judged.is_steady() && judged.difference() == 0.0);
        let grows: Vec<f64> = (0..20).map(|i| if i < 10 { 0.0 } else { f64::from(i) }).collect();
        assert!(!Steadiness::of(&grows, 0.1).unwrap().is_steady());
        assert_eq!(Steadiness::of(&[-1.0; 20], 0.1), None);
        assert_eq!(Steadiness::of(&[1.0; 9], 0.1), None);
    }
}
