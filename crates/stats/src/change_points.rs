//! Where the level of a series changes.

use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::median;

/// Fewer observations are no level: a change takes as many on both sides.
///
/// Source: with 3 of 10, the smallest p-value of a permutation test is 1 in 120; with 2 it is 1 in 45.
pub const LEAST_LEVEL: usize = 3;

/// Shorter series are not judged.
///
/// Source: the p-value of 3 against 7 can be under 0.05, even corrected for six figures; that of 3 against 3 is 0.1 at
/// best.
pub const LEAST_SERIES: usize = 10;

/// Permutations of one test.
///
/// Source: a p-value of 0.001 can be told, which Bonferroni's correction of 0.05 for 50 figures takes.
const PERMUTATIONS: usize = 999;

/// A change of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first observation of the new level.
    pub at: usize,
    /// Median of the level before.
    pub before: f64,
    /// Median of the new level.
    pub after: f64,
    /// The p-value of the permutation test of "no change".
    pub p_value: f64,
}

/// One value and half the width of its bounds; 0 if it is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The value.
    pub value: f64,
    /// Half the width of the range that it is known to.
    pub half_width: f64,
}

/// The changes of the level of a series, in their order, by E-divisive means.
///
/// The place where the energy distance of both sides is greatest is a change, if fewer than `level` of the permutations
/// of the series have a place as good; both sides are then examined in the same way. No shape of the distribution is
/// assumed, only that without a change any order is as likely. A value weighs less the wider its bounds: by the
/// variance of the series over the sum of this variance and that of its bounds.
///
/// Bounds: none in a series of under [`LEAST_SERIES`], or with a value that is not finite. Cost: 1000 n² steps for each
/// tested part. Deterministic: permutations are drawn from `seed`.
/// Source: Matteson and James, *A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data*,
/// JASA 109, 2014; its use for a history of benchmarks: Daly et al., ICPE 2020.
pub fn change_points(series: &[Observation], level: f64, seed: u64) -> Vec<ChangePoint> {
    let finite = series.iter().all(|of| of.value.is_finite() && of.half_width >= 0.0);
    if series.len() < LEAST_SERIES || !finite {
        return Vec::new();
    }
    let weights = weights(series);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut parts = vec![(0, series.len())];
    while let Some((from, to)) = parts.pop() {
        let part = Part::new(&series[from..to], &weights[from..to]);
        if let Some((at, p_value)) = part.change(level, &mut rng) {
            found.push((from + at, p_value));
            parts.extend([(from, from + at), (from + at, to)]);
        }
    }
    found.sort_by_key(|(at, _)| *at);
    let ends: Vec<usize> =
        [0].into_iter().chain(found.iter().map(|(at, _)| *at)).chain([series.len()]).collect();
    let level_of = |from: usize, to: usize| {
        let values: Vec<f64> = series[from..to].iter().map(|of| of.value).collect();
        median(&values).unwrap_or(f64::NAN)
    };
    found
        .iter()
        .enumerate()
        .map(|(i, &(at, p_value))| ChangePoint {
            at,
            before: level_of(ends[i], at),
            after: level_of(at, ends[i + 2]),
            p_value,
        })
        .collect()
}

/// The weight of each observation, 0 to 1.
fn weights(series: &[Observation]) -> Vec<f64> {
    // Differences of neighbours have twice the variance of the values, and know no changes of the level. 0.6745 is the
    // median of |x| of a standard normal distribution.
    let steps: Vec<f64> = series.windows(2).map(|pair| (pair[1].value - pair[0].value).abs()).collect();
    let spread = median(&steps).unwrap_or(0.0) / 0.6745 / 2f64.sqrt();
    let widths: Vec<f64> = series.iter().map(|of| of.half_width).filter(|width| *width > 0.0).collect();
    let scale = if spread > 0.0 { spread } else { median(&widths).unwrap_or(1.0) };
    series.iter().map(|of| 1.0 / (1.0 + (of.half_width / scale).powi(2))).collect()
}

/// A part of the series: weighted distances of all pairs.
struct Part {
    n: usize,
    weights: Vec<f64>,
    distances: Vec<f64>,
}

impl Part {
    fn new(series: &[Observation], weights: &[f64]) -> Part {
        let n = series.len();
        let mut distances = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                distances[i * n + j] = weights[i] * weights[j] * (series[i].value - series[j].value).abs();
            }
        }
        Part { n, weights: weights.to_vec(), distances }
    }

    /// The best place for a change and its p-value; `None` if it is not significant.
    fn change(&self, level: f64, rng: &mut Xoshiro256PlusPlus) -> Option<(usize, f64)> {
        let mut order: Vec<usize> = (0..self.n).collect();
        let (at, strength) = self.best(&order)?;
        // More permutations as good as this one cannot be significant.
        let most = level * (PERMUTATIONS + 1) as f64;
        let mut as_good = 1.0;
        for _ in 0..PERMUTATIONS {
            order.shuffle(rng);
            if self.best(&order).is_some_and(|(_, other)| other >= strength * (1.0 - 1e-12)) {
                as_good += 1.0;
                if as_good > most {
                    return None;
                }
            }
        }
        (strength > 0.0).then_some((at, as_good / (PERMUTATIONS + 1) as f64))
    }

    /// The place with the greatest energy distance, and this distance.
    fn best(&self, order: &[usize]) -> Option<(usize, f64)> {
        let n = self.n;
        // Sums over the pairs to the left and to the right of the place, and between both.
        let (mut left, mut left_weight) = (0.0, 0.0);
        let mut right: f64 = self.distances.iter().sum::<f64>() / 2.0;
        let mut right_weight: f64 = self.weights.iter().sum();
        let all = right;
        let mut best: Option<(usize, f64)> = None;
        for at in 1..n {
            let moved = order[at - 1];
            let row = &self.distances[moved * n..(moved + 1) * n];
            left += order[..at - 1].iter().map(|&i| row[i]).sum::<f64>();
            right -= order[at..].iter().map(|&i| row[i]).sum::<f64>();
            left_weight += self.weights[moved];
            right_weight -= self.weights[moved];
            if at < LEAST_LEVEL || n - at < LEAST_LEVEL {
                continue;
            }
            let between = all - left - right;
            let energy = 2.0 * between / (left_weight * right_weight)
                - 2.0 * left / left_weight.powi(2)
                - 2.0 * right / right_weight.powi(2);
            let strength = energy * left_weight * right_weight / (left_weight + right_weight);
            if best.is_none_or(|(_, known)| strength > known) {
                best = Some((at, strength));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;

    /// Noise with a heavy tail, as response times have: the exponential of a sum of uniform draws.
    fn noise(rng: &mut Xoshiro256PlusPlus) -> f64 {
        let sum: f64 = (0..4).map(|_| rng.random::<f64>() - 0.5).sum();
        (sum * 3f64.sqrt()).exp()
    }

    fn series(seed: u64, n: usize, shift: impl Fn(usize) -> f64) -> Vec<Observation> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..n).map(|i| Observation { value: shift(i) + noise(&mut rng).ln(), half_width: 0.0 }).collect()
    }

    #[test]
    fn few_histories_without_a_change_have_one() {
        const HISTORIES: u64 = 200;
        let alarms =
            (0..HISTORIES).filter(|&seed| !change_points(&series(seed, 24, |_| 0.0), 0.05, 1).is_empty());
        let alarms = alarms.count();
        // At the level of 5 %, 10 are expected; the draws are fixed.
        assert!((2..=10).contains(&alarms), "{alarms}");
    }

    #[test]
    fn most_changes_are_found_where_they_are() {
        const HISTORIES: u64 = 60;
        let found = |shift: f64, after: usize| {
            let near = |seed: &u64| {
                let series = series(*seed, 20 + after, |i| if i < 20 { 0.0 } else { shift });
                change_points(&series, 0.05, 1).iter().any(|change| change.at.abs_diff(20) <= 2)
            };
            (0..HISTORIES).filter(near).count()
        };
        // In standard deviations of the noise, which is 1.
        assert!(found(3.0, 10) >= 58, "{}", found(3.0, 10));
        assert!(found(2.0, 10) >= 48, "{}", found(2.0, 10));
        assert!(found(4.0, 3) >= 51, "{}", found(4.0, 3));
    }

    #[test]
    fn several_changes_are_in_order() {
        let of = series(3, 60, |i| [0.0, 6.0, 2.0][i / 20]);
        let found = change_points(&of, 0.05, 1);
        assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [20, 40]);
        assert!(found[0].before < 1.5 && found[0].after > 4.5 && found[1].after < 3.5, "{found:?}");
        assert!(found.iter().all(|change| change.p_value <= 0.01));
    }

    #[test]
    fn wide_bounds_weigh_little() {
        // The newest four are high, and may be low: their bounds reach down to the level before.
        let with = |half_width: f64| {
            let mut of = series(5, 20, |i| if i < 16 { 0.0 } else { 5.0 });
            of[16..].iter_mut().for_each(|of| of.half_width = half_width);
            change_points(&of, 0.05, 1).len()
        };
        assert_eq!((with(0.0), with(40.0)), (1, 0));
    }

    #[test]
    fn short_or_constant_series_have_no_change() {
        let of = |values: &[f64]| -> Vec<Observation> {
            values.iter().map(|&value| Observation { value, half_width: 0.0 }).collect()
        };
        assert!(change_points(&of(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0]), 0.05, 1).is_empty());
        assert!(change_points(&of(&[4.0; 30]), 0.05, 1).is_empty());
        assert!(change_points(&of(&[f64::NAN; 30]), 0.05, 1).is_empty());
        let step: Vec<f64> = (0..20).map(|i| if i < 14 { 1.0 } else { 2.0 }).collect();
        assert_eq!(change_points(&of(&step), 0.05, 1)[0].at, 14);
    }

    proptest! {
        #[test]
        fn changes_are_within_the_series(values in prop::collection::vec((-1e9..1e9f64, 0.0..1e9f64), 0..25)) {
            let of: Vec<Observation> =
                values.iter().map(|&(value, half_width)| Observation { value, half_width }).collect();
            let found = change_points(&of, 0.05, 1);
            for pair in found.windows(2) {
                prop_assert!(pair[0].at + LEAST_LEVEL <= pair[1].at);
            }
            for change in found {
                prop_assert!((LEAST_LEVEL..=of.len() - LEAST_LEVEL).contains(&change.at));
            }
        }
    }
}
