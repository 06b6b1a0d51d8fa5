//! The JSON schemas change on purpose only, and real results of every version satisfy them.

use crate::validator::problems;
use results::*;
use serde_json::{Value, json};

const OLD: [(&str, &str); 6] = [
    ("v1-experiment", include_str!("fixtures/v1-experiment.json")),
    ("v1-load", include_str!("fixtures/v1-load.json")),
    ("v1-sweep", include_str!("fixtures/v1-sweep.json")),
    ("v1-live", include_str!("fixtures/v1-live.json")),
    ("v2-load", include_str!("fixtures/v2-load.json")),
    ("v2-web", include_str!("fixtures/v2-web.json")),
];

/// A schema without its texts, as a number.
fn shape(mut schema: Value) -> String {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|key, value| {
                    !(value.is_string() && matches!(key.as_str(), "description" | "title"))
                });
                fields.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut schema);
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(schema.to_string().as_bytes()))
}

/// A changed shape fails here. If results of the version before can still be read, its number stays, and the shape is
/// noted below; otherwise the number of the schema rises.
#[test]
fn schemas_change_on_purpose_only() {
    let check = |name: &str, version: u32, schema: Value, expect: (u32, &str)| {
        assert_eq!((version, shape(schema).as_str()), expect, "{name}");
    };
    check("result", SCHEMA, results::json_schema(), (3, "5b982503150126ef"));
    check("study", results::study::STUDY_SCHEMA, results::study_json_schema(), (2, "e46e629bf81460ab"));
    check("comparison", COMPARISON_SCHEMA, results::comparison_json_schema(), (1, "6ddb366dcc234a6c"));
}

#[test]
fn a_comparison_keeps_to_its_schema() {
    let schema = results::comparison_json_schema();
    let then: Value = serde_json::from_str(include_str!("fixtures/v1-comparison.json")).unwrap();
    assert_eq!(problems(&schema, &then), Vec::<String>::new());
    let mut bad = then;
    bad["a"]["effort"] = json!("quickly");
    assert!(!problems(&schema, &bad).is_empty());
}

#[test]
fn results_keep_to_the_schema() {
    let schema = results::json_schema();
    for (name, text) in OLD {
        let then: Value = serde_json::from_str(text).unwrap();
        assert_eq!(problems(&schema, &then), Vec::<String>::new(), "{name}");
        let read: Experiment = serde_json::from_str(text).unwrap();
        let now = serde_json::to_value(Experiment { schema: SCHEMA, ..read }).unwrap();
        assert_eq!(problems(&schema, &now), Vec::<String>::new(), "{name} as it is written today");
    }
}

#[test]
fn a_result_with_everything_keeps_to_the_schema() {
    let mut experiment: Experiment = serde_json::from_str(OLD[1].1).unwrap();
    experiment.schema = SCHEMA;
    experiment.trials = vec![full_trial()];
    let value = serde_json::to_value(&experiment).unwrap();
    assert_eq!(problems(&results::json_schema(), &value), Vec::<String>::new());
    assert_eq!(serde_json::from_value::<Experiment>(value).unwrap(), experiment);
}

#[test]
fn what_breaks_the_schema_is_seen() {
    let schema = results::json_schema();
    let good = serde_json::to_value(serde_json::from_str::<Experiment>(OLD[1].1).unwrap()).unwrap();
    let check = |pointer: &str, value: Value, expect: &str| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
        let found = problems(&schema, &bad).join("; ");
        assert!(found.contains(expect), "{pointer}: {found}");
    };
    check("/seed", json!("1"), "seed");
    check("/seed", json!(-1), "seed");
    check("/kind", json!("sweeep"), "kind");
    check("/trials/0/verdict", json!({"kind": "fine"}), "verdict");
    check("/trials/0/offered_rps", json!(null), "offered_rps");
    check("/trials/0/curve/0", json!([1.0]), "curve");
    check("/trials/0/loop_kind", json!("ajar"), "loop_kind");
    check("/trials/0/found/servers", json!(1), "servers");
    check("/trials/0", json!({}), "required");
}

/// Sessions with a distribution whose fields are all known.
fn sessions() -> Sessions {
    let (mut values, mut over_time) = (hist::Latency::new(), hist::Windows::new(units::Nanos::from_secs(1)));
    for i in 1..=1_000 {
        let value = units::Nanos::from_millis(i);
        values.record(value);
        over_time.record(value, value);
    }
    let startup = DistributionSummary::of(&values, Some(&over_time));
    assert!(startup.p1_us.is_some() && startup.p99_us.is_some() && !startup.over_time.is_empty());
    Sessions {
        begun: 9,
        underway: 8,
        ended: 7,
        cut: 6,
        refused: 5,
        never_begun: 4,
        faulty: 3,
        distributions: [("startup".to_owned(), startup)].into(),
        ..Sessions::default()
    }
    .with_live(&[(0.0, 8), (0.5, 9)])
}

/// A trial that has every optional field of this version.
fn full_trial() -> Trial {
    let times =
        LatencySummary { count: 5, mean_us: Some(1.5), max_us: Some(9.0), ..LatencySummary::default() };
    let reasons =
        vec![Invalid { reason: Reason::AgentLost, detail: "agent b:7000 was lost after 3 s".into() }];
    Trial {
        spec: Some(spec::Spec::default()),
        found: Found {
            lacks: vec!["live-feed".into()],
            unknown: vec!["items".into()],
            server_version: Some("1.6".into()),
            servers: vec!["a:1".into()],
            pages: Some(5),
            body: Some(Body { length: 3, xxh3: "00".into() }),
            io_reason: "asked for".into(),
            sources: [("mix".into(), "a paper".into())].into(),
        },
        loop_kind: LoopKind::Closed,
        closed_loop: Some(ClosedLoop {
            clients: 8,
            think_time_us: 1.0,
            expected_interval_us: Some(50.0),
            uncorrected: times.clone(),
            corrected: Some(times.clone()),
        }),
        transport: Some(Transport::UdpTcp),
        within: vec![Within { target_us: 1_000.0, share: 0.5 }],
        windows: vec![WindowPoint {
            in_flight: Some(1),
            offered: Some(2),
            answered: Some(3),
            errors: Some(4),
            hits: Some(1),
            gets: Some(2),
            ..WindowPoint::default()
        }],
        heat: Some(Heat {
            column_ms: 100,
            cells_per_octave: 4,
            columns: vec![HeatColumn { first: 60, counts: vec![1, 0, 2] }, HeatColumn::default()],
        }),
        operations: vec![Operation {
            follow_up: true,
            outcomes: Some(Arrivals::default()),
            within: Some(OperationLimit { limit_us: 1e6, due: 20, within: 19 }),
            tiers: vec![TierWork { name: "db".into(), mean_us: 1.5, calls: 12.0 }],
            curve: vec![(50.0, 2.0), (100.0, 9.0)],
            ..Operation::default()
        }],
        traffic: Traffic::over(100, 200, 2.0),
        errors: vec![ErrorCount {
            kind: "timeout".into(),
            count: 3,
            requests: Some(3),
            first_detail: Some("x".into()),
        }],
        servers: vec![ServerFigures { share: Some(1.0), bytes_sent: Some(1), ..ServerFigures::default() }],
        lateness: Some(Lateness { requests: 3, limit_us: Some(50.0), ..Lateness::default() }),
        disturbance: Some(Disturbance {
            server_taken_share: Some(0.1),
            p99_at_least_us: Some(90.0),
            undisturbed: Some(times.clone()),
            basis: Basis::UndisturbedWindows,
            ..Disturbance::default()
        }),
        connections: ConnectionSpread::of(&[(1, None), (2, Some(units::Nanos(5)))]),
        datagrams: Some(Datagrams { sent: 9, multi: 2, ..Datagrams::default() }),
        sessions: Some(sessions()),
        agents: vec![AgentRecord {
            clock_offset_us: Some(-3.0),
            verdict: Verdict::Valid,
            ..AgentRecord::default()
        }],
        gates: vec!["within(1ms)>99%".parse::<Gate>().unwrap().evaluate(&Trial::default())],
        verdict: Verdict::Invalid { reasons },
        ..Trial::default()
    }
}
