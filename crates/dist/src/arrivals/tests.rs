use super::*;
use crate::{Purpose, Streams};

const RPS: f64 = 100_000.0;

fn arrivals(spec: &str) -> Arrivals {
    Arrivals::of(&spec.parse().unwrap(), Rate::new(RPS).unwrap(), None).unwrap()
}

fn times(spec: &str, seed: u64, end_ns: f64) -> Vec<f64> {
    let mut arrivals = arrivals(spec);
    let mut rng = Streams::new(seed).stream(Purpose::Arrivals, 0);
    std::iter::from_fn(|| arrivals.next(&mut rng)).take_while(|&t| t < end_ns).collect()
}

#[test]
fn time_never_goes_back() {
    let specs = [
        "poisson",
        "constant",
        "pareto:0.8",
        "pareto:-1",
        "etc",
        "mmpp:10x,1ms,9ms",
        "poisson+ramp:0..3/1s,repeat",
    ];
    for spec in specs {
        let times = times(spec, 1, 1e9);
        assert!(times.is_sorted() && times[0] >= 0.0, "{spec}");
        assert!((times.len() as f64) > 0.5 * RPS, "{spec}: {}", times.len());
    }
}

#[test]
fn the_mean_rate_is_as_offered_from_the_first_moment() {
    // Of each process the mean count in the first 10 ms of 400 seeds, whose standard error is estimated from them.
    for spec in ["poisson", "etc", "pareto:0.4", "pareto:-1", "mmpp:4x,1ms,9ms", "mmpp:10x,1ms,9ms"] {
        let counts: Vec<f64> = (0..400).map(|seed| times(spec, seed, 1e7).len() as f64).collect();
        let mean = counts.iter().sum::<f64>() / 400.0;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / 399.0;
        let error = (variance / 400.0).sqrt();
        assert!((mean - 1_000.0).abs() < 4.0 * error, "{spec}: {mean} ± {error}");
        assert_eq!(arrivals(spec).expected(0.0, 1e7), 1_000.0);
    }
}

#[test]
fn equal_gaps_do_not_drift() {
    let mut arrivals = Arrivals::new(Process::Constant, None, Rate::new(3.0).unwrap());
    let mut rng = Streams::new(1).stream(Purpose::Arrivals, 0);
    let last = (0..=3_000_000).map(|_| arrivals.next(&mut rng).unwrap()).last().unwrap();
    assert_eq!(last.round(), 1e15);
}

#[test]
fn equal_gaps_under_a_repeated_profile_do_not_drift() {
    // 1 500 arrivals in each round of 1 s: the first of each round comes at a whole second, however many there were.
    let rate = Rate::new(1_000.0).unwrap();
    let mut arrivals = Arrivals::new(Process::Constant, "steps:1x@500ms,2x@500ms,repeat".parse().ok(), rate);
    let mut rng = Streams::new(1).stream(Purpose::Arrivals, 0);
    for n in 0..=1_500_000u32 {
        let t = arrivals.next(&mut rng).unwrap();
        if n.is_multiple_of(1_500) {
            assert!((t - f64::from(n) / 1_500.0 * 1e9).abs() < 1.0, "{n}: {t}");
        }
    }
}

#[test]
fn a_profile_is_followed_in_every_part() {
    for process in ["poisson", "constant", "etc", "mmpp:2x,100us,900us"] {
        let spec = format!("{process}+steps:1x@100ms,0x@100ms,3x@100ms");
        let (times, arrivals) = (times(&spec, 3, 4e8), arrivals(&spec));
        for part in 0..4 {
            let (from, to) = (f64::from(part) * 1e8, f64::from(part + 1) * 1e8);
            let count = times.iter().filter(|&&t| t > from && t <= to).count() as f64;
            let expect = arrivals.expected(from, to);
            assert_eq!(expect, [1.0, 0.0, 3.0, 3.0][part as usize] * RPS / 10.0);
            // The bursts of 100 µs, 1 000 of them, make the counts vary about five times as much as Poisson's.
            assert!((count - expect).abs() <= 1.0 + 5.0 * 2.5 * expect.sqrt(), "{spec} {part}: {count}");
        }
    }
}

#[test]
fn a_trace_is_replayed_as_it_is() {
    let trace = Arc::new(Trace::parse("ms\n5\n6\n6\n8.5\n").unwrap());
    let check = |speed: f64, expect: &[f64]| {
        let mut arrivals = Arrivals::replay(trace.clone(), speed);
        let mut rng = Streams::new(1).stream(Purpose::Arrivals, 0);
        let times: Vec<f64> = std::iter::from_fn(|| arrivals.next(&mut rng)).collect();
        assert_eq!(times, expect);
        assert_eq!(arrivals.next(&mut rng), None);
    };
    check(1.0, &[0.0, 1e6, 1e6, 3.5e6]);
    check(2.0, &[0.0, 5e5, 5e5, 1.75e6]);
    check(f64::NAN, &[0.0, 1e6, 1e6, 3.5e6]);
    let arrivals = Arrivals::replay(trace, 1.0);
    assert_eq!(arrivals.expected(-1.0, 1e6), 3.0);
    assert_eq!(arrivals.expected(0.0, 1e6), 2.0);
    assert_eq!(arrivals.expected(1e6, 9e6), 1.0);
    assert_eq!(arrivals.expected(9e6, 1e6), 0.0);
    assert_eq!(arrivals.mean_rps(0.0, 2e6), 1_000.0);
}

#[test]
fn a_trace_that_was_not_read_is_an_error() {
    let error = Arrivals::of(&"trace:a".parse().unwrap(), Rate::new(1.0).unwrap(), None).unwrap_err();
    assert!(error.to_string().contains("arrivals 'trace:a@1x': its file was not read"), "{error}");
}
