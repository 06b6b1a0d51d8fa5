//! Every distribution against its configuration, over 100 seeds, and planted bugs that the same test must find.
//!
//! One seed with p > 0.01 would prove little, and one in a hundred fails by chance. If the draws are right, the
//! p-values of 100 seeds are themselves uniform, which is a sharper question and asked of all seeds at once.
//!
//! Try it: `cargo test -p dist --test fit`.

mod arrivals;
mod data_sets;
mod popularity;
mod sizes;

use dist::{Draw, Gap, KeySampler, Popularity, Purpose, Rng, Scatter, Size, Streams};
use rand::{Rng as _, RngExt};
use stats::{ChiSquare, KolmogorovSmirnov};

/// Enough for 10 draws of each of 10 000 keys, at which a modulo of 16 bits shows.
const DRAWS: usize = 100_000;

/// The p-value of the p-values: of one test for each seed, which should be uniform.
fn over_seeds(purpose: Purpose, mut test: impl FnMut(&mut Rng) -> f64) -> f64 {
    let p_values: Vec<f64> = (0..100).map(|seed| test(&mut Streams::new(seed).stream(purpose, 0))).collect();
    KolmogorovSmirnov::test(&p_values, |p| p).unwrap().p_value
}

/// Whether draws of cells follow their weights. The seeds are fixed, so that a pass or a failure is one for good.
fn fits(weights: &[f64], draw: impl FnMut(&mut Rng) -> usize) -> bool {
    fits_in(DRAWS, weights, draw)
}

/// The same with a number of draws for each seed: enough to make every cell's count large.
fn fits_in(draws: usize, weights: &[f64], mut draw: impl FnMut(&mut Rng) -> usize) -> bool {
    let p = over_seeds(Purpose::Keys, |rng| {
        let mut counts = vec![0u64; weights.len()];
        (0..draws).for_each(|_| counts[draw(rng)] += 1);
        ChiSquare::test(&counts, weights).unwrap().p_value
    });
    p > 1e-3
}

/// Whether draws in nanoseconds are exponential with a mean.
fn fits_exponential(mean_ns: f64, draw: impl Fn(&mut Rng) -> f64) -> bool {
    let p = over_seeds(Purpose::Arrivals, |rng| {
        let gaps: Vec<f64> = (0..DRAWS / 10).map(|_| draw(rng)).collect();
        KolmogorovSmirnov::test(&gaps, |ns| 1.0 - (-ns / mean_ns).exp()).unwrap().p_value
    });
    p > 1e-3
}

fn zipf_weights(n: u64, alpha: f64) -> Vec<f64> {
    (1..=n).map(|rank| (rank as f64).powf(-alpha)).collect()
}

#[test]
fn arrivals_are_exponential() {
    let gap = Gap::Exponential(4_000.0);
    assert!(fits_exponential(4_000.0, |rng| gap.sample_ns(rng)));
}

#[test]
fn uniform_keys_are_uniform() {
    let check = |n: u64| {
        let mut keys = KeySampler::new(Popularity::Uniform, n).unwrap();
        assert!(fits(&vec![1.0; n as usize], |rng| keys.sample(rng, 0) as usize), "{n}");
        let mut scattered = keys.scattered(1);
        assert!(fits(&vec![1.0; n as usize], |rng| scattered.sample(rng, n) as usize), "{n} scattered");
    };
    check(2);
    check(1_000);
    check(10_000);
}

#[test]
fn zipf_keys_follow_zipfs_law() {
    let check = |n: u64, alpha: f64| {
        let mut keys = KeySampler::new(Popularity::zipf(alpha).unwrap(), n).unwrap();
        assert!(fits(&zipf_weights(n, alpha), |rng| keys.sample(rng, 0) as usize), "{n} α {alpha}");
    };
    check(10_000, 0.0);
    check(1_000, 0.5);
    check(10_000, 0.99);
    check(10_000, 1.0);
    check(100, 1.0 - 1e-9);
    check(10_000, 1.2);
    check(3, 4.0);
}

#[test]
fn scattered_keys_keep_their_popularity() {
    let (n, seed) = (10_000, 77);
    let mut keys = KeySampler::new(Popularity::zipf(0.99).unwrap(), n).unwrap().scattered(seed);
    let scatter = Scatter::new(n, seed);
    let mut weights = vec![0.0; n as usize];
    for (rank, weight) in zipf_weights(n, 0.99).into_iter().enumerate() {
        weights[scatter.apply(rank as u64) as usize] = weight;
    }
    assert!(fits(&weights, |rng| keys.sample(rng, 0) as usize));
}

#[test]
fn a_large_key_space_follows_zipfs_law_too() {
    // A million ranks in bins that double in width.
    let (n, alpha) = (1_000_000, 0.99);
    let bin = |rank: u64| (u64::BITS - rank.leading_zeros() - 1) as usize;
    let mut weights = vec![0.0; bin(n) + 1];
    zipf_weights(n, alpha).into_iter().zip(1..).for_each(|(weight, rank)| weights[bin(rank)] += weight);
    let mut keys = KeySampler::new(Popularity::zipf(alpha).unwrap(), n).unwrap();
    assert!(fits(&weights, |rng| bin(keys.sample(rng, 0) + 1)));
}

#[test]
fn sizes_are_uniform_with_both_ends() {
    let check = |text: &str, cells: usize| {
        let size: Size = text.parse().unwrap();
        let least = size.min().0 as usize;
        assert!(fits(&vec![1.0; cells], |rng| size.sample(rng) - least), "{text}");
    };
    check("uniform:1..1024", 1_024);
    check("uniform:100..199", 100);
}

#[test]
fn neighbouring_streams_know_nothing_of_each_other() {
    // Pairs of draws, one from each stream, in a grid of 16 × 16.
    let check = |name: &str, streams: fn(u64) -> [Rng; 2]| {
        let p_values: Vec<f64> = (0..100)
            .map(|seed| {
                let [mut a, mut b] = streams(seed);
                let mut counts = [0u64; 256];
                (0..DRAWS / 5)
                    .for_each(|_| counts[(a.next_u64() >> 60 << 4 | b.next_u64() >> 60) as usize] += 1);
                ChiSquare::test(&counts, &[1.0; 256]).unwrap().p_value
            })
            .collect();
        assert!(KolmogorovSmirnov::test(&p_values, |p| p).unwrap().p_value > 1e-3, "{name}");
    };
    check("threads", |seed| [0, 1].map(|index| Streams::new(seed).stream(Purpose::Arrivals, index)));
    check("purposes", |seed| [Purpose::Keys, Purpose::Sizes].map(|p| Streams::new(seed).stream(p, 0)));
    check("seeds", |seed| [seed, seed + 1].map(|seed| Streams::new(seed).stream(Purpose::Keys, 0)));
}

#[test]
fn a_signed_modulo_is_found() {
    // CloudSuite's loader: half of the 32-bit numbers are negative, so is their remainder, and all land on key 0.
    let n = 10_000;
    assert!(!fits(&vec![1.0; n], |rng| (rng.random::<i32>() % n as i32).max(0) as usize));
}

#[test]
fn a_modulo_of_too_few_bits_is_found() {
    // 65 536 numbers on 10 000 keys: 5 536 keys get 7 of them and the others 6.
    let n = 10_000;
    assert!(!fits(&vec![1.0; n], |rng| rng.random::<u16>() as usize % n));
    // With 64 bits the same modulo is off by 10⁻¹⁵, which no number of draws would show.
    assert!(fits(&vec![1.0; n], |rng| (rng.next_u64() % n as u64) as usize));
}

#[test]
fn a_size_that_leaves_out_its_end_is_found() {
    assert!(!fits(&[1.0; 1_024], |rng| rng.random_range(0..1_023)));
}

#[test]
fn a_slightly_wrong_exponent_is_found() {
    let mut keys = KeySampler::new(Popularity::zipf(0.98).unwrap(), 10_000).unwrap();
    assert!(!fits(&zipf_weights(10_000, 0.99), |rng| keys.sample(rng, 0) as usize));
}

#[test]
fn gaps_in_whole_microseconds_are_found() {
    let gap = Gap::Exponential(40_000.0);
    assert!(!fits_exponential(40_000.0, |rng| (gap.sample_ns(rng) / 1_000.0).trunc() * 1_000.0));
}
