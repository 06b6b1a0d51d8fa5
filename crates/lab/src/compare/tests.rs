use results::{
    ComparedPoint, DistributionSummary, Invalid, MaxThroughput, Peak, Purpose, Ratio, Reason, Sessions,
    Verdict,
};

use super::*;
use crate::testing;

/// A run of both targets in turn: `repeats` blocks of 3 loads, b at 0.8 of a's response times.
fn live(repeats: u32) -> Experiment {
    let mut experiment = testing::experiment(&["memcached", "sphinx"]);
    for block in 0..repeats {
        // The machine drifts by far more than the two differ.
        let drift = 1.0 + f64::from(block);
        for share in [0.1, 0.5, 0.9] {
            for (target, factor) in [("memcached", 1.0), ("sphinx", 0.8)] {
                let mut trial = testing::trial(target, share * 100_000.0);
                (trial.block, trial.load_share) = (block, Some(share));
                trial.all.response_time.p99_us = Some(200.0 * drift * factor);
                experiment.trials.push(trial);
            }
        }
    }
    experiment
}

fn both(experiment: &Experiment) -> Comparison {
    let side = |target| Choice { experiment, target, folder: "results/x" };
    results(&side("memcached"), &side("sphinx"))
}

fn invalid() -> Verdict {
    Verdict::Invalid { reasons: vec![Invalid { reason: Reason::VerifyFailed, detail: "1 value".into() }] }
}

/// The p99 at every load.
fn p99(comparison: &Comparison) -> &[ComparedPoint] {
    let Some(figure) = comparison.figure(ComparedFigure::LOADS) else { return &[] };
    &figure.series.iter().find(|series| series.name == "p99").unwrap().points
}

fn peaks(comparison: &Comparison) -> Option<&ComparedPoint> {
    Some(&comparison.figure(ComparedFigure::PEAK)?.series[0].points[0])
}

#[test]
fn one_live_run_is_compared_pair_by_pair() {
    let comparison = both(&live(7));
    assert!(comparison.paired && comparison.differences.is_empty(), "{:?}", comparison.differences);
    assert_eq!((comparison.a.label.as_str(), comparison.b.label.as_str()), ("memcached", "sphinx"));
    assert_eq!(comparison.figures[0].series.len(), 5);
    let shares: Vec<Option<f64>> = p99(&comparison).iter().map(|point| point.share).collect();
    assert_eq!(shares, [Some(0.1), Some(0.5), Some(0.9)]);
    for point in p99(&comparison) {
        let ratio = point.ratio.unwrap();
        assert_eq!((ratio.n, ratio.judged, point.agrees()), (7, true, None));
        assert!((ratio.value - 0.8).abs() < 1e-9, "{ratio:?}");
        assert!(ratio.high.unwrap() < 0.81 && ratio.low.unwrap() > 0.79, "{ratio:?}");
    }
}

#[test]
fn what_sessions_felt_is_compared_in_figures_of_its_own() {
    let mut experiment = live(6);
    assert!(both(&experiment).figure("sessions").is_none());
    for trial in &mut experiment.trials {
        let factor = if trial.target == "sphinx" { 0.5 } else { 1.0 };
        let startup = DistributionSummary { p95_us: Some(factor * 1e6), ..DistributionSummary::default() };
        trial.sessions =
            Some(Sessions { distributions: [("startup".to_owned(), startup)].into(), ..Sessions::default() });
        trial.counters.insert("misses".into(), factor * 0.02);
    }
    let comparison = both(&experiment);
    let points = |id: &str, series: &str| -> Vec<(Option<f64>, f64)> {
        let figure = comparison.figure(id).unwrap();
        assert_eq!(figure.x.unit, "sessions/s");
        let series = figure.series.iter().find(|one| one.name == series).unwrap();
        series.points.iter().map(|point| (point.a.y, point.ratio.unwrap().value)).collect()
    };
    assert_eq!(points("sessions", "start-up delay p95"), vec![(Some(1e6), 0.5); 3]);
    assert_eq!(points("session-shares", "misses"), vec![(Some(2.0), 0.5); 3]);
    assert!(comparison.figure("session-shares").unwrap().series.len() == 1);
    // In all blocks but one the server misses nothing, so the median is 0.
    for trial in experiment.trials.iter_mut().filter(|trial| trial.target == "sphinx" && trial.block > 0) {
        trial.counters.insert("misses".into(), 0.0);
    }
    let comparison = both(&experiment);
    let misses = &comparison.figure("session-shares").unwrap().series[0];
    for point in &misses.points {
        assert_eq!((point.a.y, point.b.y, point.b.n), (Some(2.0), Some(0.0), 6), "{point:?}");
        assert!(point.ratio.is_none(), "nothing is so many times nothing");
    }
}

#[test]
fn disturbed_trials_count_and_the_ratio_without_them_stands_beside() {
    let mut experiment = live(9);
    assert!(!both(&experiment).notes.iter().any(|note| note.contains("disturbed")));
    let sphinx = experiment.trials.iter_mut().filter(|t| t.target == "sphinx" && t.load_share == Some(0.9));
    for trial in sphinx.take(2) {
        let detail = "5 ms".into();
        trial.verdict = Verdict::Valid.against(Invalid { reason: Reason::HostDisturbed, detail });
        trial.all.response_time.p99_us = trial.all.response_time.p99_us.map(|p99| 10.0 * p99);
    }
    let comparison = both(&experiment);
    let expect = "2 of 54 trials were disturbed and count";
    assert!(comparison.notes.iter().any(|note| note.starts_with(expect)), "{:?}", comparison.notes);
    let point = &p99(&comparison)[2];
    let (all, rest) = (point.ratio.unwrap(), point.undisturbed.unwrap());
    assert_eq!((all.n, rest.n, point.disturbed, point.invalid), (9, 7, 2, 0));
    // Two of nine pairs widen the interval and do not move the estimate.
    assert!((all.value - 0.8).abs() < 1e-9 && all.high.unwrap() > 1.0, "{all:?}");
    assert!((rest.value - 0.8).abs() < 1e-9 && rest.high.unwrap() < 0.81, "{rest:?}");
    assert!(p99(&comparison)[0].undisturbed.is_none());
}

#[test]
fn a_pair_with_an_invalid_side_is_left_out_and_counted() {
    let mut experiment = live(6);
    let invalidated =
        experiment.trials.iter_mut().filter(|t| t.load_share == Some(0.5) && t.target == "sphinx");
    invalidated.take(2).for_each(|trial| trial.verdict = invalid());
    let comparison = both(&experiment);
    let points = p99(&comparison);
    let counts: Vec<(u32, u32)> = points.iter().map(|p| (p.invalid, p.ratio.unwrap().n)).collect();
    assert_eq!(counts, [(0, 6), (2, 4), (0, 6)]);
    // The remaining pairs still consist of trials of the same block.
    assert!((points[1].ratio.unwrap().value - 0.8).abs() < 1e-9);
    assert!(
        comparison.notes.iter().any(|note| note == "2 invalid trials were left out."),
        "{:?}",
        comparison.notes
    );
}

#[test]
fn two_runs_are_compared_by_their_medians_and_say_so() {
    let (a, mut b) = (live(6), live(6));
    b.name = "other".into();
    b.trials.retain(|trial| trial.load_share != Some(0.9));
    for target in &mut b.targets {
        target.max_throughput.push(MaxThroughput { block: 0, low_rps: 90e3, high_rps: 92e3 });
    }
    let mut c = a.clone();
    c.targets[0].max_throughput.push(MaxThroughput { block: 0, low_rps: 100e3, high_rps: 102e3 });
    let comparison = results(
        &Choice { experiment: &c, target: "memcached", folder: "c" },
        &Choice { experiment: &b, target: "sphinx", folder: "b" },
    );
    assert!(!comparison.paired);
    let points = p99(&comparison);
    let ratio: Ratio = points[0].ratio.unwrap();
    assert_eq!((points.len(), ratio.judged, ratio.p_value), (2, true, None));
    let (low, high) = (ratio.low.unwrap(), ratio.high.unwrap());
    assert!(low < 0.4 && high > 1.5, "the drift of 6 × is part of it: {ratio:?}");
    let notes = comparison.notes.join("\n");
    assert!(
        notes.contains("not run in turn") && notes.contains("memcached 100 krps, sphinx 90.0 krps"),
        "{notes}"
    );
    assert!(notes.contains("1 of the 3 loads of memcached have no counterpart"), "{notes}");
}

#[test]
fn loads_without_shares_are_matched_by_the_nearest_rate() {
    let with = |rates: &[f64]| {
        let mut experiment = testing::experiment(&["x"]);
        experiment.trials = rates.iter().map(|rate| testing::trial("x", *rate)).collect();
        experiment
    };
    let check = |a: &[f64], b: &[f64], expect: &[(f64, f64)]| {
        let (mut a, b) = (with(a), with(b));
        a.name = "a".into();
        let side = |experiment| Choice { experiment, target: "x", folder: "" };
        let comparison = results(&side(&a), &side(&b));
        let rates = |p: &ComparedPoint| p.a.x.number().zip(p.b.x.number()).unwrap();
        assert_eq!(p99(&comparison).iter().map(rates).collect::<Vec<_>>(), expect);
        assert_eq!(
            (comparison.a.label.as_str(), comparison.b.label.as_str()),
            ("a", "20260314-092653-sweep")
        );
    };
    check(&[1000.0, 5000.0], &[1050.0, 5000.0], &[(1000.0, 1050.0), (5000.0, 5000.0)]);
    // The nearest of several, each used once; those too far apart not at all.
    check(&[1000.0, 1040.0], &[1045.0, 9000.0], &[(1040.0, 1045.0)]);
    check(&[1000.0], &[1200.0], &[]);
}

#[test]
fn peaks_have_the_ratio_that_their_intervals_allow() {
    let ratio = |a: (f64, Option<f64>), b: (f64, Option<f64>), beyond: &Verdict| {
        let mut experiment = live(1);
        for (target, (low_rps, high_rps)) in experiment.targets.iter_mut().zip([a, b]) {
            target.max_throughput.push(MaxThroughput { block: 0, low_rps: 195.0, high_rps: 200.0 });
            target.peak = Some(Peak { low_rps, high_rps, share_of_max: None, trials: 9, note: None });
            let search = Trial { purpose: Purpose::MaxSearch, ..testing::trial(&target.name, 200.0) };
            experiment.trials.push(Trial { verdict: beyond.clone(), ..search });
        }
        let comparison = both(&experiment);
        peaks(&comparison).unwrap().ratio.map(|ratio| (ratio.value, ratio.low, ratio.high))
    };
    let overloaded =
        Verdict::Overloaded { achieved_share: 0.9, backlog_growth_rps: 5.0, timed_out_share: 0.0 };
    let check = |a: (f64, Option<f64>), b: (f64, Option<f64>), expect: Option<(f64, f64, Option<f64>)>| {
        let expect = expect.map(|(value, low, high)| (value, Some(low), high));
        assert_eq!(ratio(a, b, &overloaded), expect, "{a:?} {b:?}");
    };
    check((80.0, Some(100.0)), (120.0, Some(128.0)), Some((1.5, 1.2, Some(1.6))));
    // If a side met the target at every load, the rate that it cannot sustain bounds its peak.
    check((80.0, Some(100.0)), (120.0, None), Some((1.5, 1.2, Some(2.5))));
    check((100.0, None), (50.0, Some(60.0)), Some((0.5, 0.25, Some(0.6))));
    check((80.0, Some(100.0)), (250.0, None), Some((3.125, 2.5, None)));
    // No ratio to a side that never met the target.
    check((0.0, Some(10.0)), (50.0, Some(60.0)), None);
    // The generator had no time left for more than 195 rps, so that either peak may lie above 200.
    let saturated = Invalid { reason: Reason::GeneratorSaturated, detail: "97 %".into() };
    let limited = Verdict::Valid.against(saturated);
    assert_eq!(ratio((80.0, None), (120.0, None), &limited), Some((1.5, None, None)));
}

#[test]
fn peaks_of_different_targets_are_not_compared() {
    let peak = Peak { low_rps: 1.0, high_rps: None, share_of_max: None, trials: 1, note: None };
    let mut a = live(1);
    a.targets.iter_mut().for_each(|target| target.peak = Some(peak.clone()));
    let mut b = a.clone();
    b.qos_basis = units::QosBasis::Windowed;
    let comparison = results(
        &Choice { experiment: &a, target: "sphinx", folder: "" },
        &Choice { experiment: &b, target: "sphinx", folder: "" },
    );
    assert_eq!(peaks(&comparison), None);
    assert!(comparison.notes.iter().any(|note| note.contains("different targets")));
    assert!(comparison.differences.iter().any(|difference| difference.contains("judged figure")));
}

#[test]
fn overload_is_compared_and_said() {
    let mut experiment = live(3);
    experiment.trials[1].verdict =
        Verdict::Overloaded { achieved_share: 0.9, backlog_growth_rps: 5.0, timed_out_share: 0.0 };
    let comparison = both(&experiment);
    assert_eq!((p99(&comparison)[0].ratio.unwrap().n, p99(&comparison)[0].overloaded), (3, true));
    assert!(comparison.notes.iter().any(|note| note.starts_with("1 trials were overloaded")));
}

#[test]
fn results_without_trials_have_no_points() {
    let experiment = testing::experiment(&["memcached", "sphinx"]);
    let comparison = both(&experiment);
    assert_eq!(comparison.figures, []);
}

#[test]
fn a_run_until_settled_is_judged_at_the_level_of_its_looks() {
    // Windowed p99 of b over a: one value for each block.
    let of = |ratios: &[f64]| {
        let mut experiment = live(ratios.len() as u32);
        experiment.until_settled = true;
        for trial in &mut experiment.trials {
            let ratio = if trial.target == "sphinx" { ratios[trial.block as usize] } else { 1.0 };
            trial.windowed_p99_us = Some(200.0 * ratio);
        }
        experiment
    };
    let judged = |experiment: &Experiment| p99(&both(experiment))[0].ratio.unwrap().judged;
    let check = |ratios: &[f64], expect: (bool, bool)| {
        let experiment = of(ratios);
        assert_eq!((judged(&experiment), is_settled(&experiment, None)), expect, "{ratios:?}");
    };
    // Six pairs that agree attain 3.1 %, more than their look may spend.
    check(&[0.5; 6], (false, false));
    check(&[0.5; 9], (true, true));
    // Between two looks the next one counts.
    check(&[0.5; 11], (true, true));
    check(&[1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0], (true, true));
    check(&[1.5, 0.6, 1.2, 0.7, 1.4, 0.8, 1.1, 0.5, 1.3], (true, false));
    assert!(judged(&live(6)) && !is_settled(&testing::experiment(&["one"]), None));
    // By a gate it is settled once that limit lies outside the interval, in each of the figures.
    let near = of(&[1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0]);
    assert!(is_settled(&near, Some(0.1)) && !is_settled(&near, Some(0.001)));
    let mut dear = near;
    for trial in &mut dear.trials {
        let us = if trial.target == "sphinx" { 11.0 } else { 10.0 };
        trial.counters.insert("server_cpu_us_per_request".into(), us);
    }
    assert!(is_settled(&dear, Some(0.05)));
    let comparison = both(&dear);
    let gate = comparison.gate(0.05);
    assert!(
        gate.open.is_empty() && gate.worse.iter().all(|words| words.contains("processor time")),
        "{gate:?}"
    );
    assert_eq!(gate.worse.len(), comparison.figure(ComparedFigure::CPU).unwrap().series[0].points.len());
}

#[test]
fn a_look_has_its_own_error_however_many_of_its_pairs_count() {
    let mut experiment = live(13);
    experiment.until_settled = true;
    for trial in &mut experiment.trials {
        let is_b = trial.target == "sphinx";
        trial.all.response_time.p99_us = Some(if is_b { 2f64.powi(trial.block as i32 - 3) } else { 1.0 });
        if is_b && trial.block < 4 {
            trial.verdict = invalid();
        }
    }
    // Ratios of 2 to 2⁹. The look after 13 blocks has 66/8192, of which 9 pairs attain 4/512: the interval begins at the
    // second of the averages 1, 1.5, 2, 2 … of two exponents. The look after 9 blocks had 10/512, the fourth of them.
    let ratio = p99(&both(&experiment))[0].ratio.unwrap();
    assert_eq!((ratio.n, ratio.judged), (9, true));
    assert!((ratio.low.unwrap() - 2f64.powf(1.5)).abs() < 1e-9, "{ratio:?}");
    assert!((ratio.high.unwrap() - 2f64.powf(8.5)).abs() < 1e-6, "{ratio:?}");
}
