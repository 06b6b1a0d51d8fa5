//! Runs on a host with foreign load.

use super::*;

/// A run of a server of 100 krps on a host that behaves so.
fn run(sweep: &Sweep, behave: &str) -> Experiment {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &[behave]);
    let (outcome, result) = bench.run(sweep, trials);
    outcome.unwrap();
    result
}

/// The number of the first trial for which `wanted` holds, as `from=` takes it.
fn number(result: &Experiment, wanted: impl Fn(&Trial) -> bool) -> usize {
    1 + result.trials.iter().position(wanted).expect("there is one")
}

fn noted(result: &Experiment, words: &str) -> bool {
    result.notes.iter().any(|note| note.contains(words))
}

#[test]
fn a_host_that_always_disturbs_leaves_the_run_without_a_maximum() {
    let bench = Bench::new();
    let trials = bench.trials(&["sphinx"], &["behave=disturbed"]);
    let (outcome, result) = bench.run(&plan(), trials);
    let message = outcome.unwrap_err().to_string();
    assert!(message.contains("20 trials in a row said nothing"), "{message}");
    assert!(result.targets[0].max_throughput.is_empty() && result.targets[0].peak.is_none());
    assert_eq!(result.trials.len(), 20);
}

#[test]
fn a_later_block_without_a_maximum_is_given_up_and_the_others_stand() {
    let whole = run(&plan(), "behave=ok");
    let from = number(&whole, |trial| trial.block == 1);
    let result = run(&plan(), &format!("behave=disturbed,from={from}"));
    assert!(result.complete && result.interrupted.is_none(), "it is no failure of the run");
    assert_eq!(result.targets[0].max_throughput.len(), 1);
    assert!(noted(&result, "Block 2: given up"), "{:?}", result.notes);
    assert!(!result.trials.iter().any(|t| t.purpose == Purpose::LoadPoint && t.block == 1));
}

#[test]
fn a_search_repeats_what_the_host_disturbed() {
    let result = run(&plan(), "behave=disturbed,from=3,until=4");
    let max = &result.targets[0].max_throughput;
    assert_eq!(max.len(), 2);
    assert!(max.iter().all(|max| max.low_rps <= 1e5 && max.high_rps >= 1e5), "{max:?}");
    assert!(noted(&result, "2 of"), "{:?}", result.notes);
    assert!(!noted(&result, "the limit may be the generator"), "{:?}", result.notes);
}

#[test]
fn a_peak_rests_on_what_the_sweep_has_shown_where_the_host_disturbs_its_search() {
    let sweep = Sweep { loads: vec![0.2, 0.5, 0.8, 1.0], repeats: 1, ..plan() };
    let from = number(&run(&sweep, "behave=ok"), |trial| trial.purpose == Purpose::PeakSearch);
    let result = run(&sweep, &format!("behave=disturbed,from={from}"));
    let max = result.targets[0].max_throughput[0].low_rps;
    let peak = result.targets[0].peak.as_ref().unwrap();
    let (low, high) = (peak.low_rps / max, peak.high_rps.unwrap() / max);
    assert!((low - 0.8).abs() < 1e-6 && (high - 1.0).abs() < 1e-6, "{low} {high}");
    assert!(peak.note.as_ref().unwrap().contains("20 trials in a row said nothing"), "{:?}", peak.note);
    // Without a sweep, the search has no prior knowledge.
    let sweep = Sweep { loads: Vec::new(), repeats: 1, ..plan() };
    let from = number(&run(&sweep, "behave=ok"), |trial| trial.purpose == Purpose::PeakSearch);
    let result = run(&sweep, &format!("behave=disturbed,from={from}"));
    assert!(result.targets[0].peak.is_none() && noted(&result, "is not known"), "{:?}", result.notes);
}

#[test]
fn an_invalid_trial_beside_others_names_the_host() {
    let check = |reason: Reason, steal: Option<f64>, foreign: Option<f64>, expect: &str| {
        let mut trial = testing::trial("sphinx", 10_000.0);
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
        let mut trial = testing::trial("sphinx", 10_000.0);
        trial.noise.disturbed_windows = disturbed;
        trial.verdict = Verdict::Valid.against(Invalid { reason, detail: String::new() });
        assert_eq!(host_beside(&trial).is_some(), expect, "{reason:?} {disturbed}");
    };
    check(Reason::ReceiveLag, 0, false);
    check(Reason::ReceiveLag, 1, false);
    check(Reason::GeneratorLag, 1, false);
}
