//! The sizes of Facebook's ETC pool.
//!
//! Source: Atikoglu, Xu, Frachtenberg, Jiang and Paleczny, *Workload analysis of a large-scale key-value store*,
//! SIGMETRICS 2012, §5 and table 5.

use super::law::Law;

/// Key sizes. Check value: mean 36.2 B.
pub(crate) const KEY: Law = Law::Gev { mu: 30.7984, sigma: 8.20449, k: 0.078688 };

/// The chances of values of 0 … 14 B.
///
/// The equal entries for 9 and 10 B look like a misprint that everyone has copied since; it moves the mean by less
/// than 0.1 B, so the published figures stay.
pub(crate) const SMALL: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837, 0.00837,
    0.08989, 0.00092, 0.00326, 0.01980,
];

/// All other values. Check value: mean 194 B with the small ones.
pub(crate) const LARGE: Law = Law::Pareto { theta: 15.0, sigma: 214.476, k: 0.348238 };

/// The value that belongs to a share `u`, not rounded.
#[inline]
pub(crate) fn value_quantile(u: f64) -> f64 {
    let mut rest = u;
    for (size, share) in SMALL.iter().enumerate() {
        if rest < *share {
            return size as f64;
        }
        rest -= share;
    }
    // The remainder of u is uniform over the remaining probability.
    let large = 1.0 - SMALL.iter().sum::<f64>();
    LARGE.quantile((rest / large).clamp(0.0, 1.0))
}
