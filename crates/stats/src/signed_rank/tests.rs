use proptest::prelude::*;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use statrs::distribution::StudentsT;

use super::*;

/// Darwin's maize, 15 pairs, cross- minus self-fertilized, in eighths of an inch.
const DARWIN: [f64; 15] =
    [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];

fn of(differences: &[f64]) -> SignedRank {
    SignedRank::of(differences).unwrap()
}

fn two_sided(ranks: &SignedRank, centre: f64) -> f64 {
    (2.0 * ranks.p_outside(Interval { low: centre, high: centre })).min(1.0)
}

#[test]
fn agrees_with_the_tables() {
    // Critical values of the rank sum, two-sided 5 % (Wilcoxon and Wilcox 1964): the largest sum that is rejected.
    let check = |n: usize, expect: usize| {
        let rejected = rank_sums(n).partition_point(|chance| *chance <= 0.025);
        assert_eq!(rejected.checked_sub(1), Some(expect), "{n}");
    };
    check(6, 0);
    check(7, 2);
    check(8, 3);
    check(10, 8);
    check(15, 25);
    check(20, 52);
    check(30, 137);
    // R: wilcox.test(darwin, exact = TRUE), p = 0.04126; the estimate is the median of 120 averages.
    let maize = of(&DARWIN);
    assert!((two_sided(&maize, 0.0) - 0.041_26).abs() < 5e-6, "{}", two_sided(&maize, 0.0));
    assert_eq!(maize.estimate(), 25.0);
}

#[test]
fn too_few_have_no_interval() {
    let check = |n: usize, level: f64, expect: bool| {
        assert_eq!(of(&vec![1.0; n]).interval(level).is_some(), expect, "{n} {level}");
        assert_eq!(n >= fewest(level), expect, "{n} {level}");
    };
    check(5, 0.05, false);
    check(6, 0.05, true);
    check(6, 2.0 / 64.0, true);
    check(6, 0.03, false);
    check(10, 0.002, true);
    check(10, 0.001, false);
    assert!(of(&[1.0; 9]).interval(1.0).is_none() && of(&[1.0; 9]).interval(f64::NAN).is_none());
    assert!(SignedRank::of(&[]).is_none() && SignedRank::of(&[1.0, f64::NAN]).is_none());
}

#[test]
fn ends_of_a_range_are_inside() {
    let ones = of(&[1.0; 6]);
    let range = |low: f64, high: f64| Interval { low, high };
    assert_eq!(ones.p_within(range(1.0, f64::INFINITY)), 1.0 / 64.0);
    assert_eq!(ones.p_outside(range(1.0, f64::INFINITY)), 1.0);
    assert_eq!(ones.p_within(range(1.0, 1.0)), 1.0 / 64.0);
    // What must be over 1 is not.
    assert_eq!(ones.p_outside(range(1f64.next_up(), f64::INFINITY)), 1.0 / 64.0);
    assert_eq!(ones.p_within(range(f64::NEG_INFINITY, f64::INFINITY)), 1.0 / 64.0);
    assert_eq!(ones.p_outside(range(f64::NEG_INFINITY, f64::INFINITY)), 1.0);
}

#[test]
fn the_number_needed_follows_from_the_width() {
    let about = Interval { low: -1.0, high: 1.0 };
    let check = |range: (f64, f64), expect: Option<usize>| {
        let range = Interval { low: range.0, high: range.1 };
        assert_eq!(needed(10, 0.0, about, range), expect, "{range:?}");
    };
    check((f64::NEG_INFINITY, 0.5), Some(40));
    check((-0.5, 0.25), Some(160));
    // Outside: only the end that is broken counts.
    check((0.5, 9.0), Some(40));
    check((f64::NEG_INFINITY, 0.0), None);
    // All agree: as many as have an interval.
    assert_eq!(of(&[1.0; 3]).needed(Interval { low: 0.0, high: f64::INFINITY }, 0.05), Some(6));
}

#[test]
fn the_normal_distribution_takes_over_smoothly() {
    let exact = rank_sums(EXACT);
    let (n, most) = (EXACT as f64, exact.len() as f64 - 1.0);
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let normal = |t: usize| Normal::standard().cdf((t as f64 + 0.5 - most / 2.0) / deviation);
    for t in (0..exact.len()).filter(|t| exact[*t] <= 0.05) {
        assert!((normal(t) - exact[t]).abs() < 0.000_4, "{t}");
    }
    assert!(rank_sums(EXACT + 1)[0] < 1e-9);
}

/// Draws of a symmetric distribution about 0.
pub(crate) fn draw(rng: &mut Xoshiro256PlusPlus, n: usize, heavy: bool) -> Vec<f64> {
    let student = StudentsT::new(0.0, 1.0, 2.0).unwrap();
    let of = |u: f64| if heavy { student.inverse_cdf(u) } else { Normal::standard().inverse_cdf(u) };
    (0..n).map(|_| of(rng.random::<f64>().clamp(1e-12, 1.0 - 1e-12))).collect()
}

#[test]
fn the_interval_holds_the_centre_as_often_as_it_says() {
    for (seed, heavy) in [(21, true), (22, false)] {
        for n in [6, 9, 15, 28] {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let runs = 1000;
            let missed = |_: &usize| !of(&draw(&mut rng, n, heavy)).interval(0.05).unwrap().contains(0.0);
            let missed = (0..runs).filter(missed).count();
            // 5 % of 1000 are 50 ± 6.9.
            assert!(missed <= 50 + 21, "seed {seed}, heavy {heavy}, n {n}: {missed} of {runs}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn tests_and_intervals_agree(
        differences in prop::collection::vec(-9i32..9, 1..14), (low, width) in (-9i32..9, 0i32..9), level in 0.001..0.6f64,
    ) {
        let differences: Vec<f64> = differences.into_iter().map(f64::from).collect();
        let ranks = of(&differences);
        let range = Interval { low: f64::from(low), high: f64::from(low + width) };
        let (within, outside) = (ranks.p_within(range) <= level / 2.0, ranks.p_outside(range) <= level / 2.0);
        let Some(interval) = ranks.interval(level) else {
            prop_assert!(!within && !outside);
            return Ok(());
        };
        prop_assert_eq!(within, range.low <= interval.low && interval.high <= range.high);
        prop_assert_eq!(outside, interval.high < range.low || range.high < interval.low);
        prop_assert!(interval.contains(ranks.estimate()));
        // The rank sum itself: of the differences over the bound, with ties counted against it.
        let negated: Vec<f64> = differences.iter().rev().map(|d| -d).collect();
        let mirrored = of(&negated).interval(level).unwrap();
        prop_assert_eq!((mirrored.low, mirrored.high), (-interval.high, -interval.low));
    }
}
