//! Whether counts fit the shares that were configured.
//!
//! Try it: `cargo test -p stats chi_square`.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Cells are pooled until this many are expected in each.
///
/// Source: Cochran, *Some methods for strengthening the common χ² tests*, Biometrics 10(4), 1954.
const MIN_EXPECTED: f64 = 5.0;

/// The outcome of Pearson's χ² test of goodness of fit.
///
/// Source: Pearson, Philosophical Magazine 50, 1900.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquare {
    /// The sum of (observed − expected)² / expected over the pooled cells.
    pub statistic: f64,
    /// The degrees of freedom: pooled cells less one.
    pub freedom: usize,
    /// The chance of a statistic at least as large if the counts do follow the shares.
    pub p_value: f64,
}

impl ChiSquare {
    /// Tests `observed` counts against `weights` of any sum.
    ///
    /// Neighbouring cells are pooled until 5 are expected, so rare ones should lie side by side. A count where
    /// the weight is 0 has p = 0. Bounds: `None` when the lengths differ, a weight is negative or not finite,
    /// nothing was counted, or fewer than 2 cells are left.
    pub fn test(observed: &[u64], weights: &[f64]) -> Option<ChiSquare> {
        let total: u64 = observed.iter().sum();
        let weight: f64 = weights.iter().sum();
        let usable =
            observed.len() == weights.len() && weights.iter().all(|w| *w >= 0.0) && weight.is_finite();
        if !usable || weight <= 0.0 || total == 0 {
            return None;
        }
        let cells = pooled(observed, weights, total as f64 / weight);
        let freedom = cells.len().checked_sub(1).filter(|&f| f > 0)?;
        let impossible = observed.iter().zip(weights).any(|(&count, &w)| count > 0 && w == 0.0);
        let statistic = if impossible {
            f64::INFINITY
        } else {
            cells.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum()
        };
        let p_value = if impossible {
            0.0
        } else {
            ChiSquared::new(freedom as f64).expect("the freedom is over 0").sf(statistic)
        };
        Some(ChiSquare { statistic, freedom, p_value })
    }
}

/// Observed and expected counts of cells that each expect at least [`MIN_EXPECTED`].
fn pooled(observed: &[u64], weights: &[f64], scale: f64) -> Vec<(f64, f64)> {
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let (mut count, mut expected) = (0.0, 0.0);
    for (o, w) in observed.iter().zip(weights) {
        count += *o as f64;
        expected += w * scale;
        if expected >= MIN_EXPECTED {
            cells.push((count, expected));
            (count, expected) = (0.0, 0.0);
        }
    }
    // The remainder is too small for a cell of its own.
    if let Some(last) = cells.last_mut() {
        last.0 += count;
        last.1 += expected;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_known_values() {
        let check = |observed: &[u64], weights: &[f64], statistic: f64, freedom: usize, p: f64| {
            let got = ChiSquare::test(observed, weights).unwrap();
            assert_eq!(got.freedom, freedom);
            assert!((got.statistic - statistic).abs() < 5e-4 && (got.p_value - p).abs() < 5e-5, "{got:?}");
        };
        // Mendel's peas, 1866: 315 : 108 : 101 : 32 against 9 : 3 : 3 : 1; χ² = 0.4700, p = 0.9254.
        check(&[315, 108, 101, 32], &[9.0, 3.0, 3.0, 1.0], 0.4700, 3, 0.9254);
        // Two cells: χ² is a squared normal deviate, here exactly 2, and p = 0.0455 is the 2σ of any table.
        check(&[60, 40], &[1.0, 1.0], 4.0, 1, 0.0455);
        // With 2 degrees of freedom p = e^(−χ²/2): χ² = 2 and p = 1/e.
        check(&[110, 100, 90], &[1.0, 1.0, 1.0], 2.0, 2, 0.36788);
    }

    #[test]
    fn pools_what_is_rare() {
        let check = |observed: &[u64], weights: &[f64], cells: &[(f64, f64)]| {
            let total: u64 = observed.iter().sum();
            assert_eq!(pooled(observed, weights, total as f64 / weights.iter().sum::<f64>()), cells);
        };
        check(&[50, 46, 2, 1, 1], &[50.0, 46.0, 2.0, 1.0, 1.0], &[(50.0, 50.0), (50.0, 50.0)]);
        check(&[1, 3, 6, 10], &[2.0, 3.0, 5.0, 10.0], &[(4.0, 5.0), (6.0, 5.0), (10.0, 10.0)]);
        check(&[1, 1, 1], &[1.0, 1.0, 1.0], &[]);
    }

    #[test]
    fn refuses_what_cannot_be_tested() {
        let check = |observed: &[u64], weights: &[f64]| {
            assert_eq!(ChiSquare::test(observed, weights), None, "{observed:?} {weights:?}");
        };
        check(&[], &[]);
        check(&[1], &[1.0, 2.0]);
        check(&[0, 0], &[1.0, 1.0]);
        check(&[100], &[1.0]);
        check(&[4, 4], &[1.0, 1.0]);
        check(&[100, 100], &[1.0, -0.5]);
        check(&[100, 100], &[1.0, f64::NAN]);
        check(&[100, 100], &[1.0, f64::INFINITY]);
        check(&[100, 100], &[0.0, 0.0]);
    }

    #[test]
    fn what_cannot_happen_did_not() {
        let impossible = ChiSquare::test(&[100, 100, 1], &[1.0, 1.0, 0.0]).unwrap();
        assert_eq!(impossible.p_value, 0.0);
        let absent = ChiSquare::test(&[100, 100, 0], &[1.0, 1.0, 0.0]).unwrap();
        assert_eq!((absent.statistic, absent.freedom, absent.p_value), (0.0, 1, 1.0));
    }
}
