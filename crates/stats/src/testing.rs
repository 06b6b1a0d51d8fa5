//! Goodness of fit, by which tests judge whether draws follow the distribution that was configured: counts of kinds, and
//! samples of a continuous quantity.

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

/// Up to this many samples the p-value is exact; beyond, the corrected limit is within 0.0002 of it.
const EXACT: usize = 100;

/// The outcome of the Kolmogorov–Smirnov test of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KolmogorovSmirnov {
    /// The largest distance between the samples' own distribution function and the given one.
    pub statistic: f64,
    /// The chance of a distance at least as large if the samples do follow it.
    pub p_value: f64,
}

impl KolmogorovSmirnov {
    /// Tests `samples` against the distribution function `cdf`, which must be continuous.
    ///
    /// Bounds: `None` if `samples` is empty or contains a NaN. Cost: a sort, and for up to 100 samples some matrix
    /// products.
    /// Source: Marsaglia, Tsang and Wang, *Evaluating Kolmogorov's distribution*, J. Stat. Software 8(18),
    /// 2003, up to 100; Vrbik, *Small-sample corrections to Kolmogorov–Smirnov test statistic*, Pioneer
    /// Journal of Theoretical and Applied Statistics 15, 2018, beyond.
    pub fn test(samples: &[f64], cdf: impl Fn(f64) -> f64) -> Option<KolmogorovSmirnov> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        if n == 0 || sorted.iter().any(|s| s.is_nan()) {
            return None;
        }
        // The samples' distribution function is a step from i/n to (i + 1)/n at each sample.
        let statistic = sorted
            .iter()
            .enumerate()
            .map(|(i, &s)| {
                let p = cdf(s);
                (p - i as f64 / n as f64).max((i + 1) as f64 / n as f64 - p)
            })
            .fold(0.0, f64::max);
        let p_value = if n <= EXACT { 1.0 - exact(n, statistic) } else { limit(n, statistic) };
        Some(KolmogorovSmirnov { statistic, p_value: p_value.clamp(0.0, 1.0) })
    }
}

/// The chance that the distance of `n` samples stays below `d`.
///
/// With nd = k − h, it is n!/nⁿ times the middle element of the n-th power of a matrix of 2k − 1 rows, whose
/// elements are 1/(i − j + 1)! on and below the upper diagonal, less the powers of h in the first column
/// and the last row.
fn exact(n: usize, d: f64) -> f64 {
    let nd = n as f64 * d;
    let k = nd.floor() as usize + 1;
    let h = k as f64 - nd;
    if d >= 1.0 {
        return 1.0;
    }
    let m = 2 * k - 1;
    let factorial = |i: usize| (1..=i).map(|x| x as f64).product::<f64>();
    let mut matrix = vec![vec![0.0; m]; m];
    for (i, row) in matrix.iter_mut().enumerate() {
        for (j, cell) in row.iter_mut().enumerate().take(i + 2) {
            let mut numerator = 1.0;
            if j == 0 {
                numerator -= h.powi(i as i32 + 1);
            }
            if i == m - 1 {
                numerator -= h.powi((m - j) as i32);
            }
            if j == 0 && i == m - 1 {
                numerator += (2.0 * h - 1.0).max(0.0).powi(m as i32);
            }
            *cell = numerator / factorial(i + 1 - j);
        }
    }
    // One factor i/n of n!/nⁿ goes in with each multiplication, and each row is scaled to a maximum of 1: the
    // chance is a number of ordinary size, but its factors leave the range of f64 from n = 1 000 or so.
    let mut row = vec![0.0; m];
    row[k - 1] = 1.0;
    let mut log_scale = 0.0;
    for i in 1..=n {
        let product = |j: usize| (j.saturating_sub(1)..m).map(|l| row[l] * matrix[l][j]).sum::<f64>();
        let next: Vec<f64> = (0..m).map(|j| product(j) * i as f64 / n as f64).collect();
        let scale = next.iter().copied().fold(0.0, f64::max);
        if scale == 0.0 {
            return 0.0;
        }
        row = next.iter().map(|v| v / scale).collect();
        log_scale += scale.ln();
    }
    row[k - 1] * log_scale.exp()
}

/// The chance of a distance of at least `d`: Kolmogorov's limit, with Vrbik's correction for finite `n`.
///
/// The usual correction, Stephens's, is 0.009 off at 100 samples, this one 0.000 14.
fn limit(n: usize, d: f64) -> f64 {
    let root = (n as f64).sqrt();
    let lambda = root * d + 1.0 / (6.0 * root) + (root * d - 1.0) / (4.0 * n as f64);
    // Below 0.3 the alternating series needs many terms, and the chance is over 0.999 99.
    if lambda < 0.3 {
        return 1.0;
    }
    let term = |j: i32| {
        let sign = if j % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(j * j) * lambda * lambda).exp()
    };
    (1..=20).map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::RngExt;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn chi_square_agrees_with_known_values() {
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

    #[test]
    fn kolmogorov_smirnov_agrees_with_known_values() {
        let check = |n: usize, d: f64, expect: f64, error: f64| {
            let got = exact(n, d);
            assert!((got - expect).abs() <= error, "n {n} d {d}: {got}");
        };
        check(10, 0.274, 0.628_479_615_456_504_3, 1e-13); // Marsaglia, Tsang and Wang, section 1
        check(2_000, 0.04, 0.996_769_431_917_136_8, 1e-11); // the same
        check(1, 0.7, 0.4, 1e-15); // one sample: 2d − 1
        check(2, 0.75, 0.875, 1e-15); // two: 1 − 2(1 − d)² from d = ½ on
        check(10, 0.409_25, 0.95, 1e-5); // the 5 % points of any table
        check(20, 0.294_08, 0.95, 1e-5);
        check(5, 1.0, 1.0, 0.0);
        check(5, 0.1, 0.0, 1e-15); // no 5 samples are nearer than 1/(2 × 5)
    }

    #[test]
    fn the_limit_continues_the_exact_values() {
        for d in [0.05, 0.08, 0.1, 0.12, 0.15, 0.2] {
            let (exact, limit) = (1.0 - exact(EXACT, d), limit(EXACT, d));
            assert!((exact - limit).abs() < 2e-4, "d {d}: {exact} {limit}");
        }
        assert!((limit(1_000_000, 1.358_1e-3) - 0.05).abs() < 1e-4); // 1.3581/√n, the limit's 5 % point
        assert_eq!(limit(1_000_000, 1e-9), 1.0);
    }

    #[test]
    fn measures_the_distance_on_both_sides_of_a_step() {
        let check = |samples: &[f64], expect: f64| {
            let got = KolmogorovSmirnov::test(samples, |x| x).unwrap().statistic;
            assert!((got - expect).abs() < 1e-12, "{samples:?}: {got}");
        };
        check(&[0.5], 0.5);
        check(&[0.9, 0.8], 0.8);
        check(&[0.1, 0.2], 0.8);
        check(&[0.25, 0.75], 0.25);
        assert_eq!(KolmogorovSmirnov::test(&[], |x| x), None);
        assert_eq!(KolmogorovSmirnov::test(&[0.5, f64::NAN], |x| x), None);
    }

    #[test]
    fn its_p_values_are_uniform_and_small_for_another_distribution() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for n in [30, 300] {
            let mut p_values = |power: f64| -> Vec<f64> {
                let mut draw = || (0..n).map(|_| rng.random::<f64>().powf(power)).collect::<Vec<_>>();
                (0..100).map(|_| KolmogorovSmirnov::test(&draw(), |x| x).unwrap().p_value).collect()
            };
            assert!(KolmogorovSmirnov::test(&p_values(1.0), |p| p).unwrap().p_value > 1e-3);
            assert!(KolmogorovSmirnov::test(&p_values(1.3), |p| p).unwrap().p_value < 1e-3);
        }
    }

    proptest! {
        #[test]
        fn a_larger_distance_is_less_likely(n in 1usize..150, a in 0.0..1.0f64, b in 0.0..1.0f64) {
            let chance = |d| if n <= EXACT { 1.0 - exact(n, d) } else { limit(n, d) };
            prop_assert!(chance(a.min(b)) >= chance(a.max(b)) - 1e-9);
        }
    }
}
