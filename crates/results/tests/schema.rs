//! Earlier results stay readable: files of the earlier schemas, kept unchanged.

use results::{
    Basis, Comparison, Disturbance, Experiment, Kind, LatencySummary, LoopKind, Peak, Purpose, Reason,
    Verdict,
};
use serde_json::{Value, json};
use units::{Qos, QosBasis, ResponseTarget};

const EXPERIMENT: &str = include_str!("fixtures/v1-experiment.json");
const COMPARISON: &str = include_str!("fixtures/v1-comparison.json");
/// Written by the last version of schema 1 and by the last of schema 2, and since only stripped of white space, the
/// program's folder and, in the live comparison, of the searches' trials.
const MEASURED: [(&str, &str); 5] = [
    ("v1-load", include_str!("fixtures/v1-load.json")),
    ("v1-sweep", include_str!("fixtures/v1-sweep.json")),
    ("v1-live", include_str!("fixtures/v1-live.json")),
    ("v2-load", include_str!("fixtures/v2-load.json")),
    ("v2-web", include_str!("fixtures/v2-web.json")),
];

fn experiment() -> Experiment {
    serde_json::from_str(EXPERIMENT).unwrap()
}

/// Paths at which `now` lacks or changes a value of `then`; new fields are allowed.
fn lost(then: &Value, now: &Value, path: &str) -> Vec<String> {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            let below = |(name, value): (&String, &Value)| {
                lost(value, now.get(name).unwrap_or(&Value::Null), &format!("{path}.{name}"))
            };
            // The configuration of schemas 1 and 2 is not read.
            then.iter().filter(|(name, _)| *name != "config").flat_map(below).collect()
        }
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
            let pairs = then.iter().zip(now).enumerate();
            pairs.flat_map(|(i, (then, now))| lost(then, now, &format!("{path}[{i}]"))).collect()
        }
        _ if then == now => Vec::new(),
        _ => vec![format!("{path}: {then} became {now}")],
    }
}

#[test]
fn nothing_of_an_old_experiment_is_lost() {
    let then: Value = serde_json::from_str(EXPERIMENT).unwrap();
    let now = serde_json::to_value(experiment()).unwrap();
    assert_eq!(lost(&then, &now, ""), Vec::<String>::new());
}

#[test]
fn nothing_that_was_measured_is_lost() {
    for (name, text) in MEASURED {
        let then: Value = serde_json::from_str(text).unwrap();
        let read: Experiment = serde_json::from_str(text).unwrap();
        assert_eq!(lost(&then, &serde_json::to_value(&read).unwrap(), ""), Vec::<String>::new(), "{name}");
        // Fields that schema 1 lacked are absent, and its loads were open.
        for trial in read.trials.iter().filter(|_| read.schema == 1) {
            assert_eq!(trial.loop_kind, LoopKind::Open, "{name}");
            assert!(trial.heat.is_none() && trial.within.is_empty() && trial.gates.is_empty(), "{name}");
            assert!(trial.windows.iter().all(|window| window.outstanding().is_none()), "{name}");
        }
    }
}

#[test]
fn nothing_of_an_old_comparison_is_lost() {
    let then: Value = serde_json::from_str(COMPARISON).unwrap();
    let read: Comparison = serde_json::from_str(COMPARISON).unwrap();
    assert_eq!(lost(&then, &serde_json::to_value(&read).unwrap(), ""), Vec::<String>::new());
    assert!(read.figures[0].series[0].points[0].ratio.is_some_and(|ratio| ratio.judged));
}

#[test]
fn a_loss_would_be_seen() {
    let check = |then: Value, now: Value, expect: &[&str]| assert_eq!(lost(&then, &now, ""), expect);
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    check(json(r#"{"a": 1}"#), json(r#"{"a": 1, "new": 2}"#), &[]);
    check(json(r#"{"a": 1}"#), json("{}"), &[".a: 1 became null"]);
    check(json(r#"{"a": [1, 2]}"#), json(r#"{"a": [1, 3]}"#), &[".a[1]: 2 became 3"]);
    check(json(r#"{"a": [1]}"#), json(r#"{"a": []}"#), &[".a: [1] became []"]);
}

#[test]
fn an_old_experiment_means_what_it_meant() {
    let experiment = experiment();
    assert_eq!((experiment.kind, experiment.seed, experiment.complete), (Kind::Sweep, 42, false));
    assert_eq!(
        (&experiment.qos, experiment.qos_basis),
        (&"p99<1ms".parse::<Qos>().unwrap(), QosBasis::Windowed)
    );
    let peak = experiment.targets[0].peak.as_ref().unwrap();
    assert_eq!((peak.low_rps, peak.high_rps), (112_000.0, Some(118_000.0)));
    assert_eq!(experiment.trials_of("sphinx").count(), 2);
    let purposes: Vec<Purpose> = experiment.trials.iter().map(|trial| trial.purpose).collect();
    assert_eq!(purposes, [Purpose::LoadPoint, Purpose::MaxSearch, Purpose::PeakSearch]);
    let verdicts: Vec<&str> = experiment.trials.iter().map(|trial| trial.verdict.label()).collect();
    assert_eq!(verdicts, ["valid", "overloaded", "generator lag"]);
    let Verdict::Invalid { reasons } = &experiment.trials[2].verdict else { panic!("not invalid") };
    assert_eq!(reasons.len(), 10);
    assert_eq!(reasons[9].reason, Reason::ProbeLoss);
}

#[test]
fn what_is_written_reads_back_equal() {
    let experiment = experiment();
    let text = serde_json::to_string(&experiment).unwrap();
    assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), experiment);
    let open = Peak { low_rps: 0.0, high_rps: None, share_of_max: None, trials: 0, note: None };
    let text = serde_json::to_string(&open).unwrap();
    assert_eq!(serde_json::from_str::<Peak>(&text).unwrap(), open);
}

/// The response time in a target.
fn response_target(qos: &str) -> ResponseTarget {
    qos.parse::<Qos>().unwrap().response_time().unwrap()
}

#[test]
fn a_target_is_written_as_it_always_was_or_as_a_list() {
    let check = |qos: Qos, expect: Value| {
        let written = serde_json::to_value(&qos).unwrap();
        assert_eq!(written, expect);
        assert_eq!(serde_json::from_value::<Qos>(written).unwrap(), qos);
    };
    check(Qos::default(), json!({ "percentile": 99.0, "limit_ns": 1_000_000, "basis": "windowed" }));
    check(
        "windowed p99<1ms,startup<2s,met>95%".parse().unwrap(),
        json!({ "conditions": [
            { "kind": "response_time", "percentile": 99.0, "limit_ns": 1_000_000, "basis": "windowed" },
            { "kind": "times", "name": "startup", "percentile": 95.0, "limit_ns": 2_000_000_000u64 },
            { "kind": "ratio", "name": "met", "at_most": false, "limit_percent": 95.0 },
        ] }),
    );
    assert!(serde_json::from_value::<Qos>(json!({ "conditions": [] })).is_err());
    assert!(serde_json::from_value::<Qos>(json!({ "percentile": 99.0 })).is_err());
}

#[test]
fn the_judged_figure_follows_target_and_basis() {
    let experiment = experiment();
    let check = |trial: usize, qos: &str, basis: QosBasis, expect: Option<f64>| {
        let target = response_target(qos);
        assert_eq!(experiment.trials[trial].qos_figure_us(&target, basis), expect, "{trial} {qos}");
    };
    check(0, "p99<1ms", QosBasis::Windowed, Some(176.0));
    check(0, "p99<1ms", QosBasis::Raw, Some(181.0));
    check(0, "raw p99<1ms", QosBasis::Windowed, Some(181.0));
    check(0, "p50<1ms", QosBasis::Windowed, Some(39.1));
    check(0, "p95<1ms", QosBasis::Raw, Some(104.0));
    check(0, "p99.9<1ms", QosBasis::Raw, Some(434.0));
    // Read from the curve, and only as far as it extends.
    check(0, "p98<1ms", QosBasis::Raw, Some(181.0));
    check(0, "p99.5<1ms", QosBasis::Raw, None);
    // Nothing measured: no figure for any target.
    check(1, "p99<1ms", QosBasis::Windowed, None);
    check(1, "p75<1ms", QosBasis::Raw, None);
    // No window held enough samples: the raw figure is used instead.
    check(2, "p99<1ms", QosBasis::Windowed, Some(14.0));
}

#[test]
fn claims_rest_on_undisturbed_windows_where_the_record_says_so() {
    let mut trial = experiment().trials.remove(0);
    let figure =
        |trial: &results::Trial, qos: &str| trial.qos_figure_us(&response_target(qos), QosBasis::Raw);
    assert_eq!((trial.disturbance.clone(), figure(&trial, "p99<1ms")), (None, Some(181.0)), "an old result");
    let undisturbed = LatencySummary { count: 5_000, p99_us: Some(90.0), ..LatencySummary::default() };
    let mut check = |basis: Basis, p99: f64, p98: Option<f64>| {
        let undisturbed = Some(undisturbed.clone());
        trial.disturbance = Some(Disturbance { undisturbed, basis, ..Disturbance::default() });
        assert_eq!(figure(&trial, "p99<1ms"), Some(p99), "{basis:?}");
        assert_eq!(figure(&trial, "p98<1ms"), p98, "{basis:?}");
    };
    check(Basis::All, 181.0, Some(181.0));
    check(Basis::Nothing, 181.0, Some(181.0));
    // The curve is of all requests.
    check(Basis::UndisturbedWindows, 90.0, None);
}
