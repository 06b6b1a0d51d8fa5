//! The times between events that are independent of each other.
//!
//! Try it: `cargo test -p dist gap`.

use rand::RngExt;
use rand_distr::Exp1;

use crate::Rng;

/// A distribution of a service time, or of the time between two arrivals.
///
/// Units: nanoseconds, fractional, since at 3 Mrps a gap rounded to whole nanoseconds is 0.1 % off.
/// Cost: an exponential gap takes about 5 ns, by the ziggurat method.
/// Source: Marsaglia and Tsang, *The ziggurat method*, J. Stat. Software 5(8), 2000, as in rand_distr.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// Exponentially distributed, by its mean.
    Exponential(f64),
    /// Always the same.
    Constant(f64),
}

impl Gap {
    /// One draw, in nanoseconds, not negative.
    #[inline]
    pub fn sample_ns(&self, rng: &mut Rng) -> f64 {
        match self {
            Gap::Exponential(mean_ns) => mean_ns * rng.sample::<f64, _>(Exp1),
            Gap::Constant(gap_ns) => *gap_ns,
        }
    }
}

/// Draws a number with a Poisson distribution: how many gaps of an exponential distribution fit into its mean.
///
/// Cost: 10 ns for each of them.
pub fn poisson(mean: f64, rng: &mut Rng) -> u64 {
    let (mut number, mut at) = (0, 0.0);
    loop {
        // 1 − u is over 0, so that its logarithm is finite.
        at -= (1.0 - rng.random::<f64>()).ln();
        if at >= mean {
            return number;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Streams};

    #[test]
    fn has_the_mean_and_the_spread_of_its_kind() {
        let check = |gap: Gap, variation: f64| {
            let mut rng = Streams::new(1).stream(Purpose::Arrivals, 0);
            let n = 100_000.0;
            let draws: Vec<f64> = (0..n as usize).map(|_| gap.sample_ns(&mut rng) / 4_000.0).collect();
            let mean = draws.iter().sum::<f64>() / n;
            let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n;
            // Standard errors of the mean and the variance of an exponential: 1/√n and √(8/n); four of each.
            assert!((mean - 1.0).abs() < 4.0 / n.sqrt(), "{gap:?}: mean {mean}");
            assert!((variance - variation).abs() < 4.0 * (8.0 / n).sqrt(), "{gap:?}: variance {variance}");
            assert!(draws.iter().all(|&d| d >= 0.0));
        };
        check(Gap::Exponential(4_000.0), 1.0);
        check(Gap::Constant(4_000.0), 0.0);
    }
}
