//! The popularity of data sets, as they are and scaled up.

use dist::{DataSet, KeySampler, Line, Population, Scaling, twitter_like};
use std::sync::Arc;

use crate::fits_in;

const LINES: u32 = 100;

/// Cells of up to 3 000 items, of which the test puts the seldom ones together.
const DRAWS: usize = 20_000;

/// Line i has the value size i and the popularity 1 / (i + 1)².
fn population(scaling: &str) -> Population {
    let line = |i: u32| Line { key_size: 40, value_size: i, popularity: f64::from(i + 1).powi(-2) };
    let set = DataSet::new((0..LINES).map(line).collect()).unwrap();
    Population::new(&set, scaling.parse().unwrap()).unwrap()
}

/// Weight of each item, which its line and its copy identify.
fn weights(population: &Population, weight: impl Fn(u32, u64) -> f64) -> Vec<f64> {
    let items = 0..population.items();
    items.map(|item| weight(population.value_size(item) as u32, item / u64::from(LINES))).collect()
}

#[test]
fn copies_share_a_lines_popularity() {
    for scaling in ["1x", "30x"] {
        let population = Arc::new(population(scaling));
        let weights = weights(&population, |line, _| f64::from(line + 1).powi(-2));
        let mut keys = KeySampler::of(population);
        assert!(fits_in(DRAWS, &weights, |rng| keys.sample(rng, 0) as usize), "{scaling}");
    }
}

#[test]
fn a_tail_follows_the_first_copy() {
    for alpha in [0.5, 0.915, 1.0] {
        let population = population(&format!("30x,tail:{alpha}"));
        let harmonic = |to: u32| (1..=to).map(|r| f64::from(r).powf(-alpha)).sum::<f64>();
        let first: f64 = (1..=LINES).map(|i| f64::from(i).powi(-2)).sum();
        let weights = weights(&population, |line, copy| match copy {
            0 => f64::from(line + 1).powi(-2) / first * harmonic(LINES),
            // Lines are in the order of their popularity, so line and copy make the rank.
            _ => (copy as f64 * f64::from(LINES) + f64::from(line + 1)).powf(-alpha),
        });
        assert!(fits_in(DRAWS, &weights, |rng| population.sample(rng) as usize), "α {alpha}");
    }
}

#[test]
fn the_twitter_like_set_draws_its_head_as_published() {
    let set = twitter_like();
    let check = |scaling: Scaling, first: f64, head: f64| {
        let population = Population::new(&set, scaling).unwrap();
        let mut cells = vec![2; population.items() as usize];
        let by_share = |item: u64| population.share(item);
        let mut items: Vec<u64> = (0..population.items()).collect();
        items.select_nth_unstable_by(970, |a, b| by_share(*b).total_cmp(&by_share(*a)));
        items[..970].iter().for_each(|&item| cells[item as usize] = 1);
        let top = items[..970].iter().max_by(|a, b| by_share(**a).total_cmp(&by_share(**b))).unwrap();
        cells[*top as usize] = 0;
        let weights = [first, head - first, 1.0 - head];
        assert!(fits_in(DRAWS, &weights, |rng| cells[population.sample(rng) as usize]), "{scaling}");
    };
    check(Scaling::NONE, 0.0081, 0.326);
    // Of 3 copies with a tail the first keeps H(267 434) / H(802 302) of the requests.
    let harmonic = |to: u32| (1..=to).rev().map(|r| f64::from(r).powf(-0.915)).sum::<f64>();
    let kept = harmonic(267_434) / harmonic(802_302);
    check("3x,tail:0.915".parse().unwrap(), 0.0081 * kept, 0.326 * kept);
}

#[test]
fn a_scaling_that_ignores_copies_is_found() {
    let population = population("30x");
    let weights = weights(&population, |line, _| f64::from(line + 1).powi(-2));
    assert!(!fits_in(DRAWS, &weights, |rng| (population.sample(rng) % u64::from(LINES)) as usize));
}

#[test]
fn a_tail_that_is_shared_alike_is_found() {
    let (tail, alike) = (population("30x,tail:0.915"), population("30x"));
    let weights: Vec<f64> = (0..tail.items()).map(|item| tail.share(item)).collect();
    assert!(!fits_in(DRAWS, &weights, |rng| alike.sample(rng) as usize));
}

#[test]
fn half_of_all_requests_for_one_key_are_found() {
    // The signed modulo of CloudSuite's loader, on the drawn probability of its own data set.
    let population = population("1x");
    let weights: Vec<f64> = (0..population.items()).map(|item| population.share(item)).collect();
    let draw = |rng: &mut dist::Rng| {
        if rand::RngExt::random::<i32>(rng) < 0 { 0 } else { population.sample(rng) as usize }
    };
    assert!(!fits_in(DRAWS, &weights, draw));
}
