//! Two things measured in turn, compared pair by pair.
//!
//! Machines drift by more than what is to be found, but little from one trial to the next. Runs of A and B
//! are therefore interleaved and each pair gives one ratio, from which the drift cancels.
//!
//! Try it: `cargo test -p stats paired`.

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::bootstrap::{Interval, bootstrap};
use crate::spread::MIN_TO_JUDGE;

/// Up to this many pairs, all 2ⁿ signs are tried: 65 536, some milliseconds.
const EXACT: usize = 16;

/// Beyond, this many are drawn; p = 0.05 is then known to ±0.0007 (one standard error).
const SAMPLED: u32 = 100_000;

/// The seed of what is drawn, so that the same pairs always get the same answer.
const SEED: u64 = 0x7061_6972;

/// How much larger A is than B, from pairs of measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// The number of pairs.
    pub n: usize,
    /// The geometric mean of A/B: below 1 where A is smaller.
    pub ratio: f64,
    /// The 95 % interval of the ratio; `None` under [`MIN_TO_JUDGE`](crate::MIN_TO_JUDGE) pairs.
    pub interval: Option<Interval>,
    /// The chance of a ratio at least this far from 1 if A and B were alike, by [`sign_flip_test`]; `None`
    /// under [`MIN_TO_JUDGE`](crate::MIN_TO_JUDGE) pairs.
    pub p_value: Option<f64>,
}

impl Paired {
    /// Compares `a[i]` with `b[i]`.
    ///
    /// Bounds: `None` when there is no pair, when the lengths differ, or when a value is not over 0 and finite.
    pub fn compare(a: &[f64], b: &[f64]) -> Option<Paired> {
        let usable = |values: &[f64]| values.iter().all(|v| *v > 0.0 && v.is_finite());
        if a.is_empty() || a.len() != b.len() || !usable(a) || !usable(b) {
            return None;
        }
        // Logarithms, so that twice as long and half as long weigh the same.
        let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
        let n = logs.len();
        let mean = |values: &mut [f64]| values.iter().sum::<f64>() / n as f64;
        let (interval, p_value) = if n >= MIN_TO_JUDGE {
            (bootstrap(&logs, mean, 0.95, SEED), sign_flip_test(&logs, SEED))
        } else {
            (None, None)
        };
        Some(Paired {
            n,
            ratio: mean(&mut logs.clone()).exp(),
            interval: interval.map(|log| Interval { low: log.low.exp(), high: log.high.exp() }),
            p_value,
        })
    }
}

/// The chance that the differences of pairs have a mean this far from 0 if each sign were an accident.
///
/// Bounds: `None` when there is no difference or one is not finite. At least 2/2ⁿ, so under 6 pairs it
/// cannot get below 5 %. Cost: exact to 16 pairs, 100 000 draws by the seed beyond.
/// Source: Fisher, *The Design of Experiments*, 1935.
pub fn sign_flip_test(differences: &[f64], seed: u64) -> Option<f64> {
    let n = differences.len();
    if n == 0 || !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    let sum = |signs: u64| -> f64 {
        differences.iter().enumerate().map(|(i, d)| if signs >> (i % 64) & 1 == 0 { *d } else { -d }).sum()
    };
    // A little less than what was seen, so that the same sum in another order counts as the same.
    let seen = sum(0).abs() - 1e-12 * differences.iter().map(|d| d.abs()).sum::<f64>();
    if n <= EXACT {
        let all = 1u64 << n;
        let as_far = (0..all).filter(|&signs| sum(signs).abs() >= seen).count();
        return Some(as_far as f64 / all as f64);
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let draw = |rng: &mut Xoshiro256PlusPlus| -> f64 {
        differences
            .chunks(64)
            .map(|chunk| {
                let signs = rng.next_u64();
                let signed = |(i, d): (usize, &f64)| if signs >> i & 1 == 0 { *d } else { -d };
                chunk.iter().enumerate().map(signed).sum::<f64>()
            })
            .sum()
    };
    let as_far = (0..SAMPLED).filter(|_| draw(&mut rng).abs() >= seen).count();
    // What was seen is one of the possible signs, so it counts on both sides: never 0.
    Some((as_far + 1) as f64 / f64::from(SAMPLED + 1))
}

#[cfg(test)]
mod tests;
