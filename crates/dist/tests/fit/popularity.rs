//! Popularities against the weights of their definitions, with a fixed and with a growing number of keys.

use dist::KeySampler;

use crate::{fits, zipf_weights};

fn sampler(popularity: &str, count: u64) -> KeySampler {
    KeySampler::new(popularity.parse().unwrap(), count).unwrap()
}

fn check(popularity: &str, weights: &[f64]) {
    let n = weights.len() as u64;
    let mut keys = sampler(popularity, n);
    assert!(fits(weights, |rng| keys.sample(rng, n) as usize), "{popularity}");
}

#[test]
fn hot_sets_have_their_shares() {
    let weights = |n: usize, hot: usize, share: f64| -> Vec<f64> {
        let (inside, outside) = (share / hot as f64, (1.0 - share) / (n - hot) as f64);
        (0..n).map(|i| if i < hot { inside } else { outside }).collect()
    };
    check("hotset:20%,80%", &weights(1_000, 200, 0.8));
    check("hotset:1%,50%", &weights(1_000, 10, 0.5));
    // At least one key, where the share is less than one.
    check("hotset:1%,90%", &weights(10, 1, 0.9));
    check("hotset:100%,50%", &[1.0; 100]);
}

#[test]
fn the_latest_are_the_most_popular() {
    let mut weights = zipf_weights(1_000, 0.99);
    weights.reverse();
    check("latest:0.99", &weights);
}

#[test]
fn exponential_keys_fall_off_from_the_newest() {
    // γ of YCSB: −ln(1 − 0.95) over 85.714 % of the keys.
    let n = 1_000;
    let gamma = -(0.05f64).ln() / (0.857_142_857_1 * f64::from(n));
    let weights: Vec<f64> = (0..n).map(|key| (-gamma * f64::from(n - 1 - key)).exp()).collect();
    check("exponential:95%,85.71428571%", &weights);
}

#[test]
fn normal_keys_follow_the_normal_law() {
    // Φ(z) at whole z: 0.158655 to −1, and so on; with a standard deviation of 10 % ten keys have cells of one z.
    let cell = [2.866_515_7e-7, 3.138_459e-5, 1.318_227e-3, 2.140_023_4e-2, 1.359_051_22e-1, 3.413_447_46e-1];
    let weights: Vec<f64> = (0..10).map(|key: usize| cell[1 + key.min(9 - key)]).collect();
    check("normal:10%", &weights);
}

#[test]
fn a_sequence_is_uniform_to_the_last_request() {
    let mut keys = sampler("sequential", 1_000);
    let mut rng = dist::Streams::new(1).stream(dist::Purpose::Keys, 0);
    let mut counts = [0u32; 1_000];
    (0..100_000).for_each(|_| counts[keys.sample(&mut rng, 1_000) as usize] += 1);
    assert_eq!(counts, [100; 1_000]);
}

#[test]
fn every_draw_follows_the_number_of_keys_of_its_moment() {
    // The number of keys cycles through 100, 101 … 199: the expected weights are the mean over these numbers.
    let growing = |of: &dyn Fn(u64) -> Vec<f64>| {
        let mut weights = vec![0.0; 199];
        for n in 100..200 {
            let own = of(n);
            let total: f64 = own.iter().sum();
            own.iter().zip(&mut weights).for_each(|(w, sum)| *sum += w / total);
        }
        weights
    };
    let check = |popularity: &str, of: &dyn Fn(u64) -> Vec<f64>| {
        let mut keys = sampler(popularity, 100);
        let mut turn = 0;
        let draw = |rng: &mut dist::Rng| {
            turn += 1;
            keys.sample(rng, 100 + turn % 100) as usize
        };
        assert!(fits(&growing(of), draw), "{popularity}");
    };
    check("uniform", &|n| vec![1.0; n as usize]);
    check("zipf:0.99", &|n| zipf_weights(n, 0.99));
    check("latest:0.99", &|n| zipf_weights(n, 0.99).into_iter().rev().collect());
}

#[test]
fn a_number_of_keys_that_is_not_followed_is_found() {
    let mut keys = sampler("latest:0.99", 100);
    let mut weights = zipf_weights(101, 0.99);
    weights.reverse();
    assert!(!fits(&weights, |rng| keys.sample(rng, 100) as usize));
}
