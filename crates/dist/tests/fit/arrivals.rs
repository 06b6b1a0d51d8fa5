//! Arrivals against the distributions of their gaps, of their counts, and of their times under a profile.

use dist::{Arrivals, Purpose, Rng};
use rand::RngExt;
use rand_distr::Exp1;
use statrs::function::erf::erfc;
use stats::KolmogorovSmirnov;
use units::Rate;

use crate::over_seeds;

const RPS: f64 = 100_000.0;

fn arrivals(spec: &str, rps: f64) -> Arrivals {
    Arrivals::of(&spec.parse().unwrap(), Rate::new(rps).unwrap(), None).unwrap()
}

/// Whether the gaps of arrivals, the wait for the first apart, follow a distribution function.
fn gaps_fit(spec: &str, rps: f64, below: impl Fn(f64) -> f64) -> bool {
    let p = over_seeds(Purpose::Arrivals, |rng| {
        let mut arrivals = arrivals(spec, rps);
        let times: Vec<f64> = (0..5_001).map(|_| arrivals.next(rng).unwrap()).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        KolmogorovSmirnov::test(&gaps, &below).unwrap().p_value
    });
    p > 1e-3
}

fn pareto(mean: f64, k: f64) -> impl Fn(f64) -> f64 {
    move |x| 1.0 - (1.0 + k * x / (mean * (1.0 - k))).powf(-1.0 / k)
}

#[test]
fn gaps_follow_their_laws() {
    assert!(gaps_fit("poisson", RPS, |x| 1.0 - (-x / 1e4).exp()));
    assert!(gaps_fit("pareto:0.5", RPS, pareto(1e4, 0.5)));
    assert!(gaps_fit("pareto:-0.5", RPS, pareto(1e4, -0.5)));
    assert!(gaps_fit("mmpp:1x,1ms,9ms", RPS, |x| 1.0 - (-x / 1e4).exp()));
}

#[test]
fn etc_gaps_follow_their_table_at_the_published_rate() {
    // Scale 16.0292 µs and shape 0.154971, so a mean of 18.97 µs.
    let (scale, k) = (16_029.2, 0.154971);
    let mean: f64 = scale / (1.0 - k);
    assert!((mean - 18_970.0).abs() < 5.0, "{mean}");
    assert!(gaps_fit("etc", 1e9 / mean, |x| 1.0 - (1.0 + k * x / scale).powf(-1.0 / k)));
}

#[test]
fn the_wait_for_the_first_is_that_of_a_process_that_runs_since_ever() {
    // Density P(gap > x) / mean: of equal rights with a look from outside at any time.
    let k = 0.4;
    let p = over_seeds(Purpose::Arrivals, |rng| {
        let waits: Vec<f64> = (0..2_000).map(|_| arrivals("pareto:0.4", RPS).next(rng).unwrap()).collect();
        let below = |x: f64| 1.0 - (1.0 + k * x / (1e4 * (1.0 - k))).powf(1.0 - 1.0 / k);
        KolmogorovSmirnov::test(&waits, below).unwrap().p_value
    });
    assert!(p > 1e-3);
}

#[test]
fn another_shape_of_gaps_is_found() {
    assert!(!gaps_fit("poisson", RPS, pareto(1e4, 0.154971)));
    assert!(!gaps_fit("etc", RPS, pareto(1e4, 0.1)));
}

/// Whether counts within 1 s have mean and variance of a two-state MMPP whose burst has `factor` times the rate for a
/// tenth of the time, 1 ms on average.
///
/// Source of the variance: Fischer and Meier-Hellstern, 1993, for the index of dispersion of counts.
fn bursts_fit(factor: f64, mut count: impl FnMut(&mut Rng, f64) -> f64) -> bool {
    let span: f64 = 1e9;
    let calm = (1.0 - 0.1 * factor) / 0.9;
    // Of both states. Units: 1/ns.
    let switching = 1.0 / 1e6 + 1.0 / 9e6;
    let difference = RPS / 1e9 * (factor - calm);
    let memory = span - (1.0 - (-switching * span).exp()) / switching;
    let variance = RPS * span / 1e9 + 2.0 * difference * difference * 0.09 / switching * memory;
    let p = over_seeds(Purpose::Arrivals, |rng| {
        // With 100 bursts in the span the count is nearly normal.
        let z = (count(rng, span) - RPS * span / 1e9) / variance.sqrt();
        0.5 * erfc(-z / std::f64::consts::SQRT_2)
    });
    p > 1e-3
}

fn counted(mut arrivals: Arrivals, rng: &mut Rng, span: f64) -> f64 {
    std::iter::from_fn(|| arrivals.next(rng)).take_while(|&t| t <= span).count() as f64
}

#[test]
fn bursts_have_the_mean_and_the_variance_of_their_process() {
    for factor in [1.0, 4.0, 10.0] {
        let spec = format!("mmpp:{factor}x,1ms,9ms");
        assert!(bursts_fit(factor, |rng, span| counted(arrivals(&spec, RPS), rng, span)), "{spec}");
    }
}

#[test]
fn bursts_with_a_wrong_mean_are_found() {
    // Between bursts the full rate goes on, so that the mean is 1.3 times the offered rate.
    let naive = |rng: &mut Rng, span: f64| {
        let (mut at, mut until, mut in_burst, mut count) = (0.0, 0.0, true, 0.0);
        while at <= span {
            in_burst = !in_burst;
            until += if in_burst { 1e6 } else { 9e6 } * rng.sample::<f64, _>(Exp1);
            let gap = 1e9 / RPS / if in_burst { 4.0 } else { 1.0 };
            while at <= until.min(span) {
                at += gap * rng.sample::<f64, _>(Exp1);
                count += 1.0;
            }
        }
        count
    };
    assert!(!bursts_fit(4.0, naive));
    // Nor may bursts be left out, which leaves the mean alone.
    assert!(!bursts_fit(4.0, |rng, span| counted(arrivals("poisson", RPS), rng, span)));
    assert!(!bursts_fit(4.0, |rng, span| counted(arrivals("mmpp:4x,1ms,9ms", RPS * 1.05), rng, span)));
}

/// Whether the arrivals of 2 s (a Poisson process's are independent, given their number) are distributed over them as
/// `share`, the fraction up to a moment.
fn spread_fits(spec: &str, share: impl Fn(f64) -> f64) -> bool {
    let p = over_seeds(Purpose::Arrivals, |rng| {
        let mut arrivals = arrivals(spec, 2_500.0);
        let times: Vec<f64> =
            std::iter::from_fn(|| arrivals.next(rng)).map(|ns| ns / 1e9).take_while(|&t| t <= 2.0).collect();
        KolmogorovSmirnov::test(&times, &share).unwrap().p_value
    });
    p > 1e-3
}

/// From 0.1 to 2 times the rate within 1 s: the integral to t, over that to 2 s.
fn ramp(t: f64) -> f64 {
    let area = |t: f64| if t < 1.0 { 0.1 * t + 0.95 * t * t } else { 1.05 + 2.0 * (t - 1.0) };
    area(t) / area(2.0)
}

#[test]
fn profiles_spread_the_arrivals() {
    assert!(spread_fits("poisson+ramp:0.1x..2x/1s", ramp));
    let steps = |t: f64| match t {
        t if t < 0.5 => t,
        t if t < 1.0 => 0.5 + 3.0 * (t - 0.5),
        t if t < 1.5 => 2.0 + (t - 1.0),
        t => 2.5 + 3.0 * (t - 1.5),
    };
    assert!(spread_fits("poisson+steps:1x@500ms,3x@500ms,repeat", move |t| steps(t) / 4.0));
    assert!(spread_fits("poisson", |t| t / 2.0));
}

#[test]
fn a_ramp_in_steps_is_found() {
    let steps: Vec<String> = (0..10).map(|i| format!("{}x@100ms", 0.1 + 0.19 * f64::from(i))).collect();
    let spec = format!("poisson+steps:{},2x@1s", steps.join(","));
    assert!(!spread_fits(&spec, ramp));
}
