use proptest::prelude::*;
use units::Nanos;

use super::*;
use crate::{
    Arrivals, Basis, Bounds, DistributionSummary, Disturbance, Invalid, LatencySummary, LoopKind, Operation,
    PercentileBounds, Reason, Sessions, TimeBounds, Trial, Verdict, Within,
};

fn trial() -> Trial {
    let summary = |slower: f64| LatencySummary {
        count: 20_000,
        mean_us: Some(40.0 * slower),
        p50_us: Some(30.0 * slower),
        p99_us: Some(400.0 * slower),
        p99_9_us: Some(900.0 * slower),
        max_us: Some(2_000.0 * slower),
        ..LatencySummary::default()
    };
    let operation = |name: &str, slower: f64, outcomes| Operation {
        name: name.into(),
        response_time: summary(slower),
        outcomes,
        ..Operation::default()
    };
    let gets = Arrivals { intended: 19_000, completed: 19_000, ..Arrivals::default() };
    Trial {
        offered_rps: 10_000.0,
        achieved_rps: 9_960.0,
        window_s: 2.0,
        arrivals: Arrivals { intended: 20_000, completed: 19_990, errors: 0, timeouts: 10, unfinished: 0 },
        all: operation("all", 1.0, None),
        operations: vec![operation("get", 0.5, Some(gets)), operation("set", 2.0, None)],
        windowed_p99_us: Some(350.0),
        within: vec![Within { target_us: 1_000.0, share: 0.995 }],
        curve: vec![(0.0, 10.0), (50.0, 30.0), (90.0, 80.0), (99.0, 400.0), (99.7, 600.0), (100.0, 2_000.0)],
        counters: [("hit_ratio".to_owned(), 0.9975)].into(),
        verdict: Verdict::Valid,
        ..Trial::default()
    }
}

#[test]
fn every_figure_is_held_to_its_limit() {
    let trial = trial();
    let check = |gate: &str, passed: bool, words: &str| {
        let result = gate.parse::<Gate>().unwrap().evaluate(&trial);
        assert_eq!((result.passed, result.words.as_str()), (passed, words), "{gate}");
    };
    check("p99<1ms", true, "p99<1ms met: 400 µs");
    check("raw p99<1ms", true, "p99<1ms met: 400 µs");
    check("windowed p99<1ms", true, "windowed_p99<1ms met: 350 µs");
    check("p99<400us", false, "p99<400us missed: 400 µs");
    check("p99 <= 400us", true, "p99<=400us met: 400 µs");
    check("p99.9≤2ms", true, "p99.9<=2ms met: 900 µs");
    check("p50<20us", false, "p50<20us missed: 30 µs");
    check("p99.7<1ms", true, "p99.7<1ms met: 600 µs");
    let failed = "10 of 20000 requests had no good answer: 0 failed, 10 timed out";
    check("p99.99<1s", false, &format!("p99.99<1s missed: {failed}"));
    check("get.p99.99<1s", false, "get.p99.99<1s missed: too few requests for it (20000)");
    check("max<1s", false, &format!("max<1s missed: {failed}"));
    check("get.max<1ms", false, "get.max<1ms missed: 1 ms");
    check("get.max<=1ms", true, "get.max<=1ms met: 1 ms");
    check("mean<50us", true, "mean<50us met: 40 µs");
    check("windowed_p99<1ms", true, "windowed_p99<1ms met: 350 µs");
    check("windowed p99 < 300us", false, "windowed_p99<300us missed: 350 µs");
    check("within(1ms)>99%", true, "within(1ms)>99% met: 99.5%");
    check("within(1ms)>99.5%", false, "within(1ms)>99.5% missed: 99.5%");
    check("within(500us)>98%", true, "within(500us)>98% met: at least 99%");
    check("within(500us)>99.5%", false, "within(500us)>99.5% missed: at least 99%");
    check("rate>=99%", true, "rate>=99% met: 99.6%");
    check("rate>=99.9%", false, "rate>=99.9% missed: 99.6%");
    check("rate>=50k", false, "rate>=50000rps missed: 9.96 krps");
    check("errors<0.1%", true, "errors<0.1% met: 0.05%");
    check("errors<0.05%", false, "errors<0.05% missed: 0.05%");
    check("hit_ratio>99%", true, "hit_ratio>99% met: 99.75%");
    check("get.p99<300us", true, "get.p99<300us met: 200 µs");
    check("set.p99<300us", false, "set.p99<300us missed: 800 µs");
    check("get.p99.9<1ms", true, "get.p99.9<1ms met: 450 µs");
    check("get.errors<1%", true, "get.errors<1% met: 0%");
    check(
        "set.errors<1%",
        false,
        "set.errors<1% missed: the trial did not count the errors of its operations",
    );
    check(
        "incr.p99<1ms",
        false,
        "incr.p99<1ms missed: no operation 'incr' was measured: the trial has get, set",
    );
    check(
        "get.p98<1ms",
        false,
        "get.p98<1ms missed: of one operation only p50, p90, p95, p99, p99.9 and p99.99 are kept",
    );
}

#[test]
fn what_sessions_feel_is_held_to_its_limit() {
    let startup = DistributionSummary {
        count: 400,
        mean_us: Some(0.5e6),
        p95_us: Some(1.5e6),
        max_us: Some(4e6),
        ..DistributionSummary::default()
    };
    let sessions =
        Sessions { distributions: [("startup".to_owned(), startup)].into(), ..Sessions::default() };
    let mut trial = Trial { sessions: Some(sessions), ..trial() };
    let counted =
        [("rebuffer_ratio", 0.004), ("sessions_met", 0.97), ("within", 0.95), ("within.home", 0.88)];
    trial.counters = counted.map(|(name, ratio)| (name.to_owned(), ratio)).into();
    trial.arrivals.completed = 19_500;
    let check = |gate: &str, passed: bool, words: &str| {
        let result = gate.parse::<Gate>().unwrap().evaluate(&trial);
        assert_eq!((result.passed, result.words.as_str()), (passed, words), "{gate}");
    };
    check("startup<2s", true, "startup.p95<2s met: 1.5 s");
    check("startup.p95<=1s", false, "startup.p95<=1s missed: 1.5 s");
    check("startup.p99<9s", false, "startup.p99<9s missed: too few samples for it (400)");
    check("startup.max<2s", false, "startup.max<2s missed: 4 s");
    check("startup.mean<2s", true, "startup.mean<2s met: 500 ms");
    check("rebuffer<1%", true, "rebuffer<1% met: 0.4%");
    check("rebuffer_ratio<0.2%", false, "rebuffer<0.2% missed: 0.4%");
    check("misses<1%", false, "misses<1% missed: 2.5%");
    check("met>95%", true, "met>95% met: 97%");
    check("within>=95%", true, "within>=95% met: 95%");
    check("within>95%", false, "within>95% missed: 95%");
    check("within.home>=90%", false, "within.home>=90% missed: 88%");
    check("within.login>=90%", false, "within.login>=90% missed: the workload did not count within.login");
    check("abandoned<1%", false, "abandoned<1% missed: the workload did not count abandoned");
    check("stall<5s", false, "stall.p95<5s missed: the workload measured no stall");
    let none = "of what sessions measure only percentiles, max and mean are known";
    check("startup.errors<1%", false, &format!("startup.errors<1% missed: {none}"));
    // An overload's response times grow with the window; its misses do not.
    trial.verdict =
        Verdict::Overloaded { achieved_share: 0.9, backlog_growth_rps: 1e3, timed_out_share: 0.0 };
    let passed = |gate: &str| gate.parse::<Gate>().unwrap().evaluate(&trial).passed;
    assert!(passed("rebuffer<1%") && !passed("startup<2s"));
}

#[test]
fn a_server_that_never_stalls_meets_a_target_on_stalls() {
    let check = |stalls: &[f64], completed: u64, gate: &str, passed: bool, words: &str| {
        let mut values = hist::Latency::new();
        stalls.iter().for_each(|seconds| values.record(Nanos((seconds * 1e9) as u64)));
        let stall = DistributionSummary::of(&values, None);
        let sessions =
            Sessions { distributions: [("stall".to_owned(), stall)].into(), ..Sessions::default() };
        let mut trial = Trial { sessions: Some(sessions), ..trial() };
        trial.arrivals.completed = completed;
        let result = gate.parse::<Gate>().unwrap().evaluate(&trial);
        assert_eq!((result.passed, result.words.as_str()), (passed, words), "{stalls:?} {gate}");
    };
    check(&[], 10, "stall<2s", true, "stall.p95<2s met: 0 ns");
    check(&[], 10, "stall.max<2s", true, "stall.max<2s met: 0 ns");
    check(&[], 10, "stall.mean<2s", true, "stall.mean<2s met: 0 ns");
    check(&[], 0, "stall<2s", false, "stall.p95<2s missed: too few samples for it (0)");
    // With few samples, the longest is the 95th percentile.
    check(&[1.0], 10, "stall<2s", true, "stall.p95<2s met: 1 s");
    check(&[0.5, 1.0, 5.0], 10, "stall<2s", false, "stall.p95<2s missed: 5 s");
    check(&[0.5, 1.0, 5.0], 10, "stall.mean<3s", true, "stall.mean<3s met: 2.17 s");
}

/// Visitors of a site that leaves most of them without a response.
#[test]
fn what_was_not_answered_meets_no_response_time() {
    let mut trial = trial();
    trial.sessions = Some(Sessions::default());
    trial.arrivals = Arrivals { intended: 192, completed: 38, timeouts: 154, ..Arrivals::default() };
    trial.operations[0].outcomes = Some(trial.arrivals);
    let words = |gate: &str, trial: &Trial| gate.parse::<Gate>().unwrap().evaluate(trial).words;
    let few = "154 of 192 requests had no good answer: 0 failed, 154 timed out";
    for gate in ["p99<1ms", "p50<1ms", "windowed_p99<1ms", "get.p99<300us"] {
        assert_eq!(words(gate, &trial), format!("{gate} missed: {few}"));
    }
    assert_eq!(words("errors<1%", &trial), "errors<1% missed: 80.21%");
    // The answered requests do not represent all.
    trial.verdict =
        Verdict::Overloaded { achieved_share: 0.2, backlog_growth_rps: 0.0, timed_out_share: 154.0 / 192.0 };
    for gate in ["mean<50us", "max<10ms", "p99<1ms"] {
        assert!(!gate.parse::<Gate>().unwrap().evaluate(&trial).passed, "{gate}");
    }
    let expect = "overloaded: achieved 20.0 % of the offered load, 80.2 % of it timed out, the backlog grew by 0 requests/s";
    assert_eq!(trial.verdict.to_string(), expect);
}

/// A site with its own limits stays valid even if nine of ten pages are quick errors, which are in no histogram.
#[test]
fn quick_errors_meet_neither_a_mean_nor_a_maximum() {
    let check = |errors: u64, gate: &str, passed: bool| {
        let completed = 1_000 - errors;
        let outcomes = Arrivals { intended: 1_000, completed, errors, ..Arrivals::default() };
        let mut trial = Trial { arrivals: outcomes, ..trial() };
        trial.operations[0].outcomes = Some(outcomes);
        let result = gate.parse::<Gate>().unwrap().evaluate(&trial);
        assert_eq!(result.passed, passed, "{errors}: {}", result.words);
        let why = format!("{errors} of 1000 requests had no good answer: {errors} failed, 0 timed out");
        assert_eq!(result.words.ends_with(&why), !passed, "{}", result.words);
    };
    for gate in ["mean<100ms", "max<1s", "get.mean<100ms", "get.max<1s"] {
        check(900, gate, false);
        check(0, gate, true);
    }
    // One in a thousand does not change the mean, but it is the longest of all.
    check(1, "mean<100ms", true);
    check(2, "mean<100ms", false);
    check(1, "get.max<1s", false);
}

#[test]
fn a_spoiled_trial_meets_nothing() {
    let gate = |gate: &str, trial: &Trial| gate.parse::<Gate>().unwrap().evaluate(trial);
    let invalid = |reason| Verdict::Valid.against(Invalid { reason, detail: String::new() });
    let mut invalidated = trial();
    let exact = |percentile, us| PercentileBounds { percentile, bounds: Bounds { low_us: us, high_us: us } };
    invalidated.bounds = Some(TimeBounds { percentiles: vec![exact(99.0, 400.0)], ..TimeBounds::default() });
    invalidated.verdict = invalid(Reason::VerifyFailed);
    let result = gate("p99<1ms", &invalidated);
    assert!(!result.passed && !result.undecided && result.measured == Some(400.0));
    assert_eq!(result.words, "p99<1ms missed: 400 µs, but the trial is invalid (verify failed)");
    assert!(!gate("rate>=50", &invalidated).passed);
    for reason in [Reason::HostDisturbed, Reason::GeneratorSaturated] {
        invalidated.verdict = invalid(reason);
        let words = gate("p99<1ms", &invalidated).words;
        assert!(words.starts_with("p99<1ms undecided: 400 µs, but"), "{words}");
    }
    // An overload is a finding: figures that do not depend on the window's length can be judged.
    invalidated.verdict =
        Verdict::Overloaded { achieved_share: 0.9, backlog_growth_rps: 1e3, timed_out_share: 0.0 };
    assert!(!gate("p99<1ms", &invalidated).passed && !gate("within(1ms)>1%", &invalidated).passed);
    assert!(!gate("p99<1ms", &invalidated).undecided, "it is the server's");
    assert!(gate("rate>=9k", &invalidated).passed);
    // The default trial was not judged.
    assert!(!gate("errors<100%", &Trial::default()).passed);
}

#[test]
fn what_generator_or_host_may_have_caused_is_undecided() {
    let mut trial = trial();
    let p99 = |low_us, high_us| PercentileBounds { percentile: 99.0, bounds: Bounds { low_us, high_us } };
    let slowed = Invalid { reason: Reason::HostDisturbed, detail: "3 %".into() };
    trial.bounds = Some(TimeBounds {
        percentiles: vec![p99(250.0, 400.0)],
        slowed: Some(slowed),
        ..TimeBounds::default()
    });
    let check = |gate: &str, passed: bool, undecided: bool, words: &str| {
        let result = gate.parse::<Gate>().unwrap().evaluate(&trial);
        assert_eq!((result.passed, result.undecided), (passed, undecided), "{}", result.words);
        assert!(result.words.contains(words), "{}", result.words);
    };
    check("p99<1ms", true, false, "met");
    check("p99<300us", false, true, "undecided: 400 µs, at least 250 µs without generator and host");
    check("p99<200us", false, false, "missed");
    check("get.p99<1us", false, true, "which generator or host may have made worse");
    // A disturbed host lowers throughput, but causes no errors.
    check("errors<1%", true, false, "met");
    check("rate>=99.99k", false, false, "missed");
    // If arrivals were withheld, too few requests are the host's fault.
    let mut few = Trial { verdict: Verdict::Valid, ..Trial::default() };
    let p99 = |trial: &Trial| "p99<1ms".parse::<Gate>().unwrap().evaluate(trial).undecided;
    assert!(!p99(&few));
    few.generator.withheld = Some(crate::Withheld { arrivals: 9, ..crate::Withheld::default() });
    assert!(p99(&few));
    let qos = |text: &str| trial.meets(&text.parse().unwrap(), units::QosBasis::Raw);
    assert_eq!([qos("p99<1ms"), qos("p99<300us"), qos("p99<200us")], [Some(true), None, Some(false)]);
}

/// The answers of a gate and of a QoS target on the same condition: `None` is undecided.
fn both(text: &str, trial: &Trial) -> [Option<bool>; 2] {
    let gate = text.parse::<Gate>().unwrap().evaluate(trial);
    let of_target = trial.meets(&text.parse().unwrap(), units::QosBasis::Raw);
    [if gate.undecided { None } else { Some(gate.passed) }, of_target]
}

#[test]
fn a_gate_and_a_target_agree_on_bounds() {
    let exact = |percentile, us| PercentileBounds { percentile, bounds: Bounds { low_us: us, high_us: us } };
    let mut trial = trial();
    trial.counters.extend([("within".to_owned(), 0.94), ("misses".to_owned(), 0.02)]);
    let bounds =
        TimeBounds { percentiles: vec![exact(99.0, 400.0)], within: Some(0.96), ..TimeBounds::default() };
    let slowed = Invalid { reason: Reason::HostDisturbed, detail: "3 %".into() };
    let check = |trial: &Trial, text: &str, expect: Option<bool>| {
        assert_eq!(both(text, trial), [expect; 2], "{text}")
    };
    // The p99.5 of 600 µs has no bounds: it stands, unless the trial was slowed. Then it is at least the p99.
    trial.bounds = Some(bounds.clone());
    check(&trial, "p99.5<500us", Some(false));
    check(&trial, "within>=95%", Some(false));
    trial.bounds = Some(TimeBounds { slowed: Some(slowed), ..bounds });
    check(&trial, "p99.5<1ms", Some(true));
    check(&trial, "p99.5<500us", None);
    check(&trial, "p99.5<300us", Some(false));
    // At most 96 % of the operations would have been within their limits; of misses no bound is known.
    check(&trial, "within>=90%", Some(true));
    check(&trial, "within>=95%", None);
    check(&trial, "within>=97%", Some(false));
    check(&trial, "misses<=1%", None);
    // Delays do not change a hit ratio.
    check(&trial, "hit_ratio>=99.9%", Some(false));
    let words = "within>=95%".parse::<Gate>().unwrap().evaluate(&trial).words;
    assert_eq!(words, "within>=95% undecided: 94%, at most 96% without generator and host");
    // No count holds if nothing was completed.
    trial.bounds = None;
    trial.counters =
        [("misses", 0.0), ("sessions_met", 1.0)].map(|(name, ratio)| (name.to_owned(), ratio)).into();
    check(&trial, "misses<1%", Some(true));
    trial.arrivals.completed = 0;
    check(&trial, "misses<1%", Some(false));
    check(&trial, "met>95%", Some(false));
}

#[test]
fn what_was_not_measured_meets_nothing() {
    let empty = Trial { verdict: Verdict::Valid, ..Trial::default() };
    for gate in [
        "p99<1h",
        "max<1h",
        "mean<1h",
        "windowed_p99<1h",
        "within(1h)>0%",
        "rate>0%",
        "errors<=100%",
        "hit_ratio>0%",
        "misses<=100%",
        "within>=0%",
        "within.home>=0%",
        "startup<1h",
    ] {
        let result = gate.parse::<Gate>().unwrap().evaluate(&empty);
        assert!(!result.passed && result.measured.is_none(), "{}", result.words);
    }
}

#[test]
fn a_closed_loop_is_named() {
    let mut closed = trial();
    closed.loop_kind = LoopKind::Closed;
    let words = |gate: &str| gate.parse::<Gate>().unwrap().evaluate(&closed).words;
    assert_eq!(words("p99<1ms"), "p99<1ms met: 400 µs (closed loop, uncorrected)");
    assert_eq!(
        words("rate>=99%"),
        "rate>=99% missed: a closed loop offers no load that it could fall short of"
    );
}

#[test]
fn errors_say_what_there_is() {
    let check = |text: &str, problem: &str| {
        let error = text.parse::<Gate>().unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
        assert!(error.contains("windowed p99") && error.contains("within(1ms)>99%"), "{error}");
    };
    check("", "it has no '<' or '>'");
    check("p99", "it has no '<' or '>'");
    check("p99<", "number");
    check("p99<5", "it has no unit");
    check("p99<0ms", "its limit is zero");
    check("p100<1ms", "called max");
    check("p0<1ms", "not a percentile");
    check("pNaN<1ms", "not a percentile");
    check("p99>1ms", "p99 is a cost");
    check("rate<50k", "rate is better the larger");
    check("misses>1%", "misses is a cost");
    check("met<95%", "met is better the larger");
    check("startup<1%", "not a unit of time");
    check("misses<1s", "not a number of per cent");
    check("speed<1ms", "there is no figure 'speed'");
    check("get.speed<1ms", "there is no figure 'speed'");
    check("get.rate>50k", "rate is known of all operations together only");
    check("within1ms>99%", "lacks its target");
    check("within<99%", "within is better the larger");
    check("within>1ms", "is not a number of per cent");
    check("within(1ms>99%", "lacks its target");
    check("within(1)>99%", "it has no unit");
    check("within(1ms)>0.99", "is not a number of per cent");
    check("rate>=101%", "more than all");
    check("errors<-1%", "is not a number of per cent");
    check("errors<inf%", "is not a number of per cent");
    check("rate>=x", "does not start with a number");
}

fn figures() -> impl Strategy<Value = String> {
    let percentile = (1u32..99_999_999).prop_map(|n| format!("p{}", f64::from(n) / 1e6));
    let time = (1u64..1_000_000_000_000).prop_map(|ns| exact(Nanos(ns)));
    let times = (
        prop_oneof!["[a-z][a-z_0-9-]{0,8}\\.", Just(String::new())],
        prop_oneof![percentile, Just("max".into()), Just("mean".into())],
        prop_oneof![Just("<"), Just("<="), Just(" ≤ ")],
        time.clone(),
    );
    let shares = (
        prop_oneof![
            time.prop_map(|t| format!("within({t})")),
            Just("rate".into()),
            Just("hit_ratio".into()),
            Just("sessions_met".into()),
            Just("within".into()),
            "within\\.[a-z][a-z-]{0,8}"
        ],
        prop_oneof![Just(">"), Just(">="), Just("≥ ")],
        0.0..=100.0f64,
    );
    prop_oneof![
        times.prop_map(|(operation, figure, sign, time)| format!("{operation}{figure}{sign}{time}")),
        shares.prop_map(|(figure, sign, percent)| format!("{figure}{sign}{percent}%")),
        (1.0..1e8f64).prop_map(|rps| format!("rate>{rps}rps")),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(text in figures()) {
        let gate: Gate = text.parse().unwrap();
        prop_assert_eq!(gate.to_string().parse::<Gate>().unwrap(), gate);
    }

    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![".{0,40}", "[a-z.p0-9()<>=≤≥% ]{0,30}"]) {
        if let Ok(gate) = text.parse::<Gate>() {
            let _ = gate.evaluate(&trial());
        }
    }
}

#[test]
fn of_undisturbed_windows_some_percentiles_are_kept() {
    let mut trial = trial();
    trial.arrivals = Arrivals { intended: 20_000, completed: 20_000, ..Arrivals::default() };
    let undisturbed = LatencySummary {
        count: 19_000,
        mean_us: Some(30.0),
        p99_us: Some(300.0),
        ..LatencySummary::default()
    };
    trial.disturbance = Some(Disturbance {
        undisturbed: Some(undisturbed),
        basis: Basis::UndisturbedWindows,
        ..Disturbance::default()
    });
    let check = |gate: &str, expect: &str| {
        assert_eq!(gate.parse::<Gate>().unwrap().evaluate(&trial).words, expect, "{gate}");
    };
    check("p99<1ms", "p99<1ms met: 300 µs");
    check(
        "p99.5<1ms",
        "p99.5<1ms undecided: the trial rests on its undisturbed windows, of which only p50, p90, p95, p99, p99.9 and p99.99 are kept",
    );
    check("p99.9<1ms", "p99.9<1ms undecided: too few requests for it (19000)");
    check("mean<35us", "mean<35us met: 30 µs");
    // An operation's times, and the counted share, are those of all windows.
    let all = "which generator or host may have made worse";
    check("get.p99<150us", &format!("get.p99<150us undecided: 200 µs, {all}"));
    check("within(1ms)>99.9%", &format!("within(1ms)>99.9% undecided: 99.5%, {all}"));
    assert_eq!(both("get.p99<150us", &trial), [None; 2]);
    assert_eq!(both("get.p99<1ms", &trial), [Some(true); 2]);
    // Of too few requests in all windows the host is not the reason.
    check("p99.99<1ms", "p99.99<1ms missed: too few requests for it (19000)");
}
