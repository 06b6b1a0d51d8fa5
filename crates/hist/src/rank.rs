//! From a percentile to the rank of one sample, and from there to a value.
//!
//! Here once, because the obvious `ceil(p / 100 × n)` is wrong in floating point: 99.9 % of 1 000 becomes
//! 999.000…1, its ceiling 1 000, and p99.9 silently turns into the maximum.

/// The number of samples that must lie beyond a percentile before it is reported.
///
/// Source: the count beyond is Poisson, so with 10 its relative standard error is 1/√10 = 32 %; with
/// fewer, the reported percentile could as well be its neighbour.
pub const MIN_BEYOND: u64 = 10;

/// The rank, from 1 to `n`, of the sample that the percentile names; `None` for no samples or NaN.
pub(crate) fn rank(percentile: f64, n: u64) -> Option<u64> {
    if n == 0 || percentile.is_nan() {
        return None;
    }
    let exact = percentile.clamp(0.0, 100.0) * n as f64 / 100.0;
    let nearest = exact.round();
    // 1e-12 is far above the rounding error of two operations (4e-16) and below half a rank for any n < 2^38;
    // beyond that the rank may be one too low, of more than 10^11.
    let rank = if (exact - nearest).abs() <= exact * 1e-12 { nearest } else { exact.ceil() };
    Some((rank as u64).clamp(1, n))
}

/// The rank, if at least [`MIN_BEYOND`] samples lie beyond it.
pub(crate) fn guarded(percentile: f64, n: u64) -> Option<u64> {
    rank(percentile, n).filter(|rank| n - rank >= MIN_BEYOND)
}

/// The quantile that makes the hdrhistogram crate stop at exactly this rank: half a rank below it.
///
/// Bounds: `n` up to 2⁵⁰, where the half is still four times the rounding error.
pub(crate) fn quantile_of_rank(rank: u64, n: u64) -> f64 {
    (rank as f64 - 0.5) / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_sample() {
        let check = |p: f64, n: u64, expect: Option<u64>| assert_eq!(rank(p, n), expect, "p{p} of {n}");
        check(50.0, 0, None);
        check(f64::NAN, 5, None);
        check(0.0, 5, Some(1));
        check(-3.0, 5, Some(1));
        check(100.0, 5, Some(5));
        check(250.0, 5, Some(5));
        check(50.0, 5, Some(3));
        check(50.0, 4, Some(2));
        check(99.9, 1_000, Some(999));
        check(99.9, 1_001, Some(1_000));
        check(99.99, 10_000, Some(9_999));
        check(99.99, 1_000_000_000, Some(999_900_000));
        check(33.3, 1_000, Some(333));
    }

    #[test]
    fn every_percentile_of_ten_thousand_names_its_own_rank() {
        // p = k/100 % of 10 000 is rank k: the case in which a bare ceiling fails about one time in ten.
        for k in 1..=10_000u64 {
            assert_eq!(rank(k as f64 / 100.0, 10_000), Some(k));
        }
    }
}
