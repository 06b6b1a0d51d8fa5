//! Runs beside a host that does something else.

use super::*;

/// A run of a server of 100 krps on a host that behaves so; `looks` is what it is like while a search waits.
fn run(sweep: &Sweep, behave: &str, looks: &[f64]) -> (Experiment, Vec<String>) {
    let bench = Bench { looks: looks.to_vec(), ..Bench::new() };
    let trials = bench.trials(&["sphinx"], &[behave]);
    let (outcome, result) = bench.run(sweep, trials);
    outcome.unwrap();
    let seen = bench.seen.lock().unwrap().clone();
    (result, seen)
}

/// Quiet while it is looked at.
const QUIET: [f64; 1] = [0.0];
const RESTLESS: [f64; 1] = [0.9];

/// The number of the first trial for which `wanted` holds, as `from=` takes it.
fn number(result: &Experiment, wanted: impl Fn(&Trial) -> bool) -> usize {
    1 + result.trials.iter().position(wanted).expect("there is one")
}

fn of_search(result: &Experiment, block: u32) -> usize {
    result.trials.iter().filter(|t| t.purpose == Purpose::MaxSearch && t.block == block).count()
}

fn noted(result: &Experiment, words: &str) -> bool {
    result.notes.iter().any(|note| note.contains(words))
}

#[test]
fn a_host_that_is_never_quiet_has_its_blocks_given_up() {
    let (result, seen) = run(&plan(), "behave=disturbed", &RESTLESS);
    assert!(result.complete && result.interrupted.is_none(), "it is no failure of the run");
    let target = &result.targets[0];
    assert!(target.max_throughput.is_empty() && target.peak.is_none());
    // Three disturbed trials show it, in each of two blocks; nothing is measured at a share of nothing.
    assert_eq!((result.trials.len(), of_search(&result, 0), of_search(&result, 1)), (6, 3, 3));
    assert!(noted(&result, "Block 1: given up") && noted(&result, "Block 2: given up"), "{:?}", result.notes);
    assert!(noted(&result, "others took 90 % of a processor of the measurement (rustc 90 %)"));
    assert!(seen.iter().any(|line| line.starts_with("waits up to")), "{seen:?}");
}

#[test]
fn a_search_goes_on_once_the_host_is_quiet() {
    let (result, seen) = run(&plan(), "behave=disturbed,from=3,until=6", &[0.9, 0.9, 0.0]);
    let max = &result.targets[0].max_throughput;
    assert_eq!(max.len(), 2);
    assert!(max.iter().all(|max| max.low_rps <= 1e5 && max.high_rps >= 1e5), "{max:?}");
    assert!(noted(&result, "were disturbed by the host and do not count"), "{:?}", result.notes);
    assert!(!noted(&result, "the limit may be the generator"), "{:?}", result.notes);
    assert!(seen.iter().any(|line| line.starts_with("goes on with the search")), "{seen:?}");
}

#[test]
fn a_maximum_far_below_that_of_earlier_blocks_is_not_taken_beside_others() {
    let quiet = run(&plan(), "behave=ok", &QUIET).0;
    let from = number(&quiet, |trial| trial.block == 1);
    let slowed = |until: usize, looks: &[f64]| {
        run(&plan(), &format!("behave=slowed,from={from},until={until}"), looks).0
    };
    // The server is found to sustain a tenth, and the host stays as it is.
    let given_up = slowed(0, &RESTLESS);
    assert_eq!(given_up.targets[0].max_throughput.len(), 1);
    let expect = "where it had sustained";
    assert!(noted(&given_up, "Block 2: given up") && noted(&given_up, expect), "{:?}", given_up.notes);
    assert!(!given_up.trials.iter().any(|t| t.purpose == Purpose::LoadPoint && t.block == 1));
    // The host is quiet before the search begins again.
    let found = slowed(from + of_search(&given_up, 1) - 1, &QUIET);
    let max = &found.targets[0].max_throughput;
    assert_eq!(max.len(), 2);
    assert!(max[1].low_rps <= 1e5 && max[1].high_rps >= 1e5, "{max:?}");
    assert!(found.trials.iter().any(|t| t.purpose == Purpose::LoadPoint && t.block == 1));
    assert!(!noted(&found, "given up"), "{:?}", found.notes);
}

#[test]
fn a_maximum_far_below_that_of_a_later_block_is_withdrawn() {
    let sweep = |repeats: u32| Sweep { repeats, peak_tolerance: None, ..plan() };
    let first = run(&sweep(1), "behave=slowed", &QUIET).0;
    assert!(first.targets[0].max_throughput[0].low_rps <= 1e4, "without another block it stands");
    let until = first.trials.len();
    let (result, _) = run(&sweep(2), &format!("behave=slowed,until={until}"), &QUIET);
    let max = &result.targets[0].max_throughput;
    assert!(max.len() == 1 && max[0].block == 1 && max[0].high_rps >= 1e5, "{max:?}");
    let points = |block: u32| {
        result.trials.iter().filter(move |t| t.purpose == Purpose::LoadPoint && t.block == block)
    };
    assert!(points(0).count() >= 4 && points(0).all(|trial| trial.verdict.is_of_host()));
    assert!(points(1).count() == 4 && points(1).all(|trial| trial.verdict == Verdict::Valid));
    assert!(noted(&result, "Block 1: its maximum is withdrawn"), "{:?}", result.notes);
}

#[test]
fn a_load_that_the_host_made_an_overload_is_run_again() {
    let sweep = Sweep { repeats: 1, peak_tolerance: None, ..plan() };
    let quiet = run(&sweep, "behave=ok", &QUIET).0;
    let from = number(&quiet, |trial| trial.purpose == Purpose::LoadPoint);
    let (result, _) = run(&sweep, &format!("behave=slowed,from={from},until={}", from + 3), &QUIET);
    let points: Vec<&Trial> = result.trials.iter().filter(|t| t.purpose == Purpose::LoadPoint).collect();
    let (first, again): (Vec<&Trial>, Vec<&Trial>) = points.iter().partition(|t| t.instead_of.is_none());
    assert_eq!((first.len(), again.len()), (4, 3), "not that at the maximum itself");
    assert!(again.iter().all(|trial| trial.verdict == Verdict::Valid));
    for trial in first {
        // What was sustained when it was run again was not the server's overload.
        let share = trial.load_share.unwrap();
        assert_eq!(trial.verdict.is_of_host(), share < 0.95, "{share}: {}", trial.verdict);
    }
}

#[test]
fn a_peak_is_not_taken_from_a_search_that_the_host_disturbed() {
    for (loads, interval) in [(vec![0.2, 0.5, 0.8, 1.0], Some((0.8, 1.0))), (Vec::new(), None)] {
        let sweep = Sweep { loads, repeats: 1, ..plan() };
        let quiet = run(&sweep, "behave=ok", &QUIET).0;
        let from = number(&quiet, |trial| trial.purpose == Purpose::PeakSearch);
        let (result, _) = run(&sweep, &format!("behave=disturbed,from={from}"), &RESTLESS);
        let max = result.targets[0].max_throughput[0].low_rps;
        // What the sweep has shown still stands, and no more.
        let found =
            result.targets[0].peak.as_ref().map(|peak| (peak.low_rps / max, peak.high_rps.unwrap() / max));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let same =
            found.zip(interval).map(|(found, expect)| near(found.0, expect.0) && near(found.1, expect.1));
        assert_eq!(same, interval.map(|_| true), "{found:?}");
        assert!(noted(&result, "The search for the peak was given up"), "{:?}", result.notes);
    }
}

#[test]
fn an_invalid_trial_beside_others_names_the_host() {
    let check = |reason: Reason, steal: Option<f64>, foreign: Option<f64>, expect: &str| {
        let mut trial = sample::trial("sphinx", 10_000.0);
        (trial.noise.steal_share, trial.noise.foreign_cpu_share) = (steal, foreign);
        assert_eq!(host_beside(&trial), None, "a valid trial stays so");
        trial.verdict = Verdict::Valid.against(Invalid { reason, detail: String::new() });
        if let Some(host) = host_beside(&trial) {
            trial.verdict = std::mem::take(&mut trial.verdict).against(host);
        }
        assert_eq!(trial.verdict.label(), expect, "{reason:?} {steal:?} {foreign:?}");
    };
    check(Reason::GeneratorLag, None, None, "generator lag");
    check(Reason::GeneratorLag, Some(0.02), Some(0.03), "generator lag");
    check(Reason::GeneratorLag, Some(0.06), Some(0.06), "host disturbed");
    check(Reason::NotSteady, None, Some(0.5), "host disturbed");
    check(Reason::VerifyFailed, None, Some(0.5), "verify failed");
}

#[test]
fn who_received_late_on_a_quiet_host_is_the_generator() {
    let check = |reason: Reason, disturbed: u64, expect: bool| {
        let mut trial = sample::trial("sphinx", 10_000.0);
        trial.noise.disturbed_windows = disturbed;
        trial.verdict = Verdict::Valid.against(Invalid { reason, detail: String::new() });
        assert_eq!(host_beside(&trial).is_some(), expect, "{reason:?} {disturbed}");
    };
    check(Reason::ReceiveLag, 0, false);
    check(Reason::ReceiveLag, 1, false);
    check(Reason::GeneratorLag, 1, false);
}
