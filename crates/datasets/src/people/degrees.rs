//! How many friends a user has.

use dist::Scatter;
use statrs::distribution::{ContinuousCDF, Normal};

/// The standard deviation of the logarithm of the number of friends.
///
/// Source: Facebook's median of 99 and mean of 191 friends (Ugander, Karrer, Backstrom and Marlow, *The anatomy of the
/// Facebook social graph*, 2011, §3.1). Of a log-normal distribution mean / median is e^(σ²/2): σ = √(2 ln(191/99)) = 1.146.
pub const SIGMA: f64 = 1.15;

/// The most friends of a user, for any number of users. Source: Facebook's own limit, Ugander et al. 2011, §3.1.
const MOST: u32 = 5000;

/// Keeps the order of degrees independent of other draws from the seed. Source: the fraction of √23.
const ORDER: u64 = 0xcbbb_9d5d_c105_9ed8;

/// How often the interval that holds the scale is halved: enough for every bit of it.
const HALVINGS: usize = 60;

/// The mean number of friends in a network of `users` users: 19 of 1k, 40 of 10k, 72 of 100k.
///
/// Source: LDBC's generator of social networks, N^(0.512 − 0.028 log₁₀ N) (Erling et al., *The LDBC Social Network
/// Benchmark: Interactive Workload*, SIGMOD 2015, §2.3), a fit to Facebook's growth.
pub fn mean_degree(users: u32) -> f64 {
    let n = f64::from(users);
    n.powf(0.512 - 0.028 * n.log10())
}

/// The most friends of a user among `users`.
pub(crate) fn most(users: u32) -> u32 {
    MOST.min(users / 2)
}

/// How many friends each user is to have.
///
/// The quantiles of the distribution at N equal steps, in an order that the seed draws, so that a small network has the
/// mean of its size for any seed. Their scale is chosen such that this mean is met after rounding and at the limits.
pub(crate) fn degrees(users: u32, seed: u64) -> Vec<u32> {
    let normal = Normal::new(0.0, 1.0).expect("it is the standard one");
    let step = |rank: u32| (f64::from(rank) + 0.5) / f64::from(users);
    let shape: Vec<f64> = (0..users).map(|rank| (SIGMA * normal.inverse_cdf(step(rank))).exp()).collect();
    let of = |value: f64, scale: f64| ((value * scale).round() as u32).clamp(1, most(users));
    let wanted = mean_degree(users) * f64::from(users);
    let total = |scale: f64| shape.iter().map(|value| u64::from(of(*value, scale))).sum::<u64>() as f64;
    let (mut low, mut high) = (0.0, f64::from(MOST));
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if total(middle) < wanted {
            low = middle
        } else {
            high = middle
        }
        if low.max(1e-3) * (1.0 + 1e-6) > high {
            break;
        }
    }
    let order = Scatter::new(u64::from(users), seed ^ ORDER);
    (0..users).map(|user| of(shape[order.apply(u64::from(user)) as usize], high)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::KolmogorovSmirnov;

    #[test]
    fn means_are_those_of_the_source() {
        let check = |users, expect: f64| {
            assert!((mean_degree(users) - expect).abs() < 0.6, "{users}: {}", mean_degree(users));
            let drawn = degrees(users, 3);
            let mean = drawn.iter().map(|d| f64::from(*d)).sum::<f64>() / f64::from(users);
            assert!((mean / mean_degree(users) - 1.0).abs() < 0.02, "{users}: {mean}");
            assert!(drawn.iter().all(|d| (1..=most(users)).contains(d)));
        };
        check(1_000, 19.0);
        check(10_000, 40.0);
        check(100_000, 72.0);
        check(10, 3.0);
    }

    #[test]
    fn draws_follow_the_distribution() {
        // Samples of users, as all of them together are the quantiles themselves.
        for seed in 1..=3 {
            let drawn = degrees(100_000, seed);
            let median = mean_degree(100_000) / (SIGMA * SIGMA / 2.0).exp();
            let normal = Normal::new(0.0, 1.0).unwrap();
            // Rounded to whole numbers: spread over their unit again, in equal steps.
            let sample: Vec<f64> = drawn[..1000]
                .iter()
                .enumerate()
                .map(|(i, d)| f64::from(*d) + (i % 97) as f64 / 97.0 - 0.5)
                .collect();
            let curve = |at: f64| if at <= 0.0 { 0.0 } else { normal.cdf((at / median).ln() / SIGMA) };
            let test = KolmogorovSmirnov::test(&sample, curve).unwrap();
            assert!(test.p_value > 1e-3, "seed {seed}: {test:?}");
        }
    }
}
