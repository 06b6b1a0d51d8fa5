//! Sizes against distribution functions that are written here once more, from their sources.

use dist::{Draw, Size};

use crate::fits_in;

/// For up to 30 cells.
const DRAWS: usize = 20_000;

/// Whether draws fall between the bounds as `below`, the distribution function of the size, says. The last cell holds
/// sizes over the last bound.
fn falls(bounds: &[u64], below: impl Fn(f64) -> f64, mut draw: impl FnMut(&mut dist::Rng) -> u64) -> bool {
    let mut weights: Vec<f64> = Vec::new();
    let mut before = 0.0;
    for bound in bounds {
        weights.push(below(*bound as f64) - before);
        before = below(*bound as f64);
    }
    weights.push(1.0 - before);
    fits_in(DRAWS, &weights, |rng| {
        let size = draw(rng);
        bounds.partition_point(|&bound| bound < size)
    })
}

fn size(text: &str) -> Size {
    text.parse().unwrap()
}

fn check(text: &str, bounds: &[u64], below: impl Fn(f64) -> f64) {
    let size = size(text);
    assert!(falls(bounds, &below, |rng| size.sample(rng) as u64), "{text}");
    // The sizes of items, drawn from their numbers: each seed of the test takes a data set of its own.
    let (mut set, mut n) = (0, 0);
    let of_items = |_: &mut dist::Rng| {
        if n == DRAWS as u64 {
            (set, n) = (set + 1, 0);
        }
        n += 1;
        size.of_item(set, n)
    };
    assert!(falls(bounds, &below, of_items), "{text} of items");
}

/// Rounded to the nearest byte, a size is at most s if the law's value is below s + ½.
fn gev(mu: f64, sigma: f64, k: f64) -> impl Fn(f64) -> f64 {
    move |s| (-(1.0 + k * (s + 0.5 - mu) / sigma).powf(-1.0 / k)).exp()
}

fn pareto(theta: f64, sigma: f64, k: f64) -> impl Fn(f64) -> f64 {
    move |s| 1.0 - (1.0 + k * (s + 0.5 - theta) / sigma).powf(-1.0 / k)
}

/// The discrete part of table 5 of the ETC study.
const SMALL: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837, 0.00837,
    0.08989, 0.00092, 0.00326, 0.01980,
];

fn etc_value(s: f64) -> f64 {
    let small: f64 = SMALL.iter().take(s as usize + 1).sum();
    if s < 15.0 { small } else { small + (1.0 - small) * pareto(15.0, 214.476, 0.348238)(s) }
}

const ETC_KEY_BOUNDS: [u64; 14] = [15, 18, 20, 22, 25, 28, 30, 33, 36, 40, 45, 50, 60, 80];

#[test]
fn etc_keys_and_values_follow_their_table() {
    check("etc-key", &ETC_KEY_BOUNDS, gev(30.7984, 8.20449, 0.078688));
    let bounds: Vec<u64> =
        (0..15).chain([16, 20, 30, 50, 100, 150, 200, 300, 500, 1_000, 2_000, 5_000]).collect();
    check("etc-value", &bounds, etc_value);
}

#[test]
fn drawn_etc_sizes_have_the_published_means() {
    let check = |text: &str, expect: f64, half_digit: f64, spread: f64| {
        let size = size(text);
        let n = 1_000_000u64;
        let mean = (0..n).map(|item| size.of_item(7, item) as f64).sum::<f64>() / n as f64;
        // The published digits, and four standard errors of the mean.
        let error = 4.0 * spread / (n as f64).sqrt();
        assert!((mean - expect).abs() < half_digit + error, "{text}: {mean}");
    };
    // Standard deviations: 11.6 B by the GEV's formula, 520 B by the formula for a mixture with the generalised
    // Pareto law.
    check("etc-key", 36.2, 0.05, 11.6);
    check("etc-value", 194.0, 0.5, 520.0);
}

#[test]
fn laws_follow_their_formulas() {
    let bounds = [10, 100, 200, 300, 500, 1_000, 1_500, 2_000];
    check("exponential:400", &bounds, |s| 1.0 - (-(s + 0.5) / 400.0).exp());
    check("pareto:5,300,0.5", &bounds, pareto(5.0, 300.0, 0.5));
    check("pareto:5,300,-0.1", &bounds, pareto(5.0, 300.0, -0.1));
    check("gev:300,100,0.3", &[100, 200, 250, 300, 400, 600, 1_000, 2_000], gev(300.0, 100.0, 0.3));
    check("gev:300,100,0", &[100, 200, 250, 300, 400, 600], |s| (-(-(s + 0.5 - 300.0) / 100.0).exp()).exp());
}

#[test]
fn normal_sizes_follow_the_table_of_the_normal_law() {
    // Φ(z) for whole z, from any table.
    let table = [
        (-2.0, 0.022_750_132),
        (-1.0, 0.158_655_254),
        (0.0, 0.5),
        (1.0, 0.841_344_746),
        (2.0, 0.977_249_868),
    ];
    let bounds = [300_000, 400_000, 500_000, 600_000, 700_000];
    let below = |s: f64| {
        let z = (s - 500_000.0) / 100_000.0;
        table.iter().find(|(at, _)| (at - z).abs() < 1e-9).unwrap().1
    };
    check("normal:500000.5,100000", &bounds, below);
}

/// The published shares of a web site's files: half under 1 KiB, 95 % under 64 KiB.
const WEB_BOUNDS: [u64; 2] = [1_023, 65_535];

fn web(s: f64) -> f64 {
    if s == 1_023.0 { 0.5 } else { 0.95 }
}

#[test]
fn web_files_have_the_published_shares() {
    check("web", &WEB_BOUNDS, web);
}

#[test]
fn lognormal_sizes_follow_the_table_of_the_normal_law() {
    // With σ = ln 4, each standard deviation is a factor of 4. Rounding, which draws 10 000 B for up to 10 000.5,
    // moves its share by 2·10⁻⁶.
    let table = [
        (10_000.0, 0.022_750_132),
        (40_000.0, 0.158_655_254),
        (160_000.0, 0.5),
        (640_000.0, 0.841_344_746),
        (2_560_000.0, 0.977_249_868),
    ];
    let below = |s: f64| table.iter().find(|(at, _)| *at == s).unwrap().1;
    let bounds = [10_000, 40_000, 160_000, 640_000, 2_560_000];
    check("lognormal:160000,1.3862943611198906[0..1000000000]", &bounds, below);
}

#[test]
fn a_tail_of_another_weight_is_found() {
    // 94 % under 64 KiB: σ = ln(65 535.5 / 1023.5) / 1.554 774.
    let wrong = size("lognormal:1023.5,2.675220");
    assert!(!falls(&WEB_BOUNDS, web, |rng| wrong.sample(rng) as u64));
}

#[test]
fn lists_follow_their_weights_and_clipping_moves_the_rest_to_the_bound() {
    let sum = |cells: &'static [(f64, f64)]| {
        move |s: f64| cells.iter().filter(|(size, _)| *size <= s).map(|(_, share)| share).sum::<f64>()
    };
    check("list:64@90,1024@9,65536@1", &[64, 1024], sum(&[(64.0, 0.90), (1024.0, 0.09), (65536.0, 0.01)]));
    check("list:1@1,2@1,3@1,4@1[2..3]", &[2], sum(&[(2.0, 0.5), (3.0, 0.5)]));
    let clipped = |s: f64| if s < 100.0 { 0.0 } else { 1.0 - (-(s + 0.5) / 400.0).exp() };
    check("exponential:400[100..1000]", &[100, 300, 500, 999], clipped);
}

#[test]
fn a_shape_of_the_other_sign_is_found() {
    let wrong = size("gev:30.7984,8.20449,-0.078688");
    let below = gev(30.7984, 8.20449, 0.078688);
    assert!(!falls(&ETC_KEY_BOUNDS, below, |rng| wrong.sample(rng) as u64));
}

#[test]
fn sizes_cut_off_instead_of_rounded_are_found() {
    let right = size("etc-key");
    let below = gev(30.7984, 8.20449, 0.078688);
    assert!(!falls(&ETC_KEY_BOUNDS, below, |rng| right.sample(rng) as u64
        - u64::from(rand::RngExt::random::<bool>(rng))));
}
