//! A made-up trial for tests: 2 s at a rate, all well.

use std::collections::BTreeMap;

use results::{
    Arrivals, Experiment, Generator, Kind, LatencySummary, Noise, Operation, Purpose, SCHEMA, Target, Trial,
    Verdict, WindowPoint,
};
use serde_json::json;
use spec::Spec;
use units::{Qos, QosBasis};

pub(crate) fn trial(target: &str, rate: f64) -> Trial {
    let summary = |p50: f64| LatencySummary {
        count: (2.0 * rate) as u64,
        mean_us: Some(1.2 * p50),
        p50_us: Some(p50),
        p90_us: Some(2.0 * p50),
        p95_us: Some(2.5 * p50),
        p99_us: Some(4.0 * p50),
        p99_9_us: Some(8.0 * p50),
        p99_99_us: None,
        max_us: Some(20.0 * p50),
    };
    let intended = (2.0 * rate) as u64;
    Trial {
        id: "0001".into(),
        target: target.into(),
        purpose: Purpose::LoadPoint,
        block: 0,
        load_share: None,
        instead_of: None,
        started: "2026-03-14T09:26:53Z".into(),
        offered_rps: rate,
        achieved_rps: rate,
        window_s: 2.0,
        warmup_s: 0.3,
        drain_s: 0.01,
        arrivals: Arrivals { intended, completed: intended, ..Arrivals::default() },
        all: Operation {
            name: "all".into(),
            response_time: summary(30.0),
            service_time: summary(28.0),
            connection_wait: summary(1.0),
            generator_lag: summary(1.0),
            ..Operation::default()
        },
        operations: Vec::new(),
        windowed_p99_us: Some(110.0),
        windows: (0..20)
            .map(|i| WindowPoint {
                start_ms: 100 * i,
                count: (rate / 10.0) as u64,
                p50_us: Some(30.0),
                p99_us: Some(110.0),
                max_us: Some(500.0),
                backlog: Some(0),
                in_flight: Some(0),
                disturbed: false,
                ..WindowPoint::default()
            })
            .collect(),
        curve: vec![(0.0, 10.0), (50.0, 30.0), (99.0, 120.0)],
        generator: Generator { threads: 1, cpus: vec![1], connections: 64, depth: 1, ..Generator::default() },
        noise: Noise { stall_threshold_us: 100.0, ..Noise::default() },
        counters: BTreeMap::new(),
        spec: Some(Spec { load: spec::Load::Rate(units::Rate::new(rate).unwrap()), ..Spec::default() }),
        verdict: Verdict::Valid,
        hlog: None,
        ..Trial::default()
    }
}

pub(crate) fn experiment(targets: &[&str]) -> Experiment {
    Experiment {
        schema: SCHEMA,
        kind: Kind::Sweep,
        name: "20260314-092653-sweep".into(),
        created: "2026-03-14T09:26:53Z".into(),
        elapsed_s: 0.0,
        complete: true,
        interrupted: None,
        command: vec!["taillight".into(), "sweep".into()],
        version: "0.1.0".into(),
        seed: 1,
        qos: Qos::default(),
        qos_basis: QosBasis::Raw,
        qos_basis_reason: String::new(),
        host: json!({ "cpu": { "model": "a", "cores": 2 } }),
        blocks: 0,
        until_settled: false,
        notes: Vec::new(),
        targets: targets.iter().map(|name| Target { name: (*name).into(), ..Target::default() }).collect(),
        trials: Vec::new(),
    }
}

/// A specification from its TOML.
pub(crate) fn spec(text: &str) -> spec::Spec {
    let table: toml::Table = text.parse().unwrap();
    crate::read_spec(serde_json::to_value(table).unwrap()).unwrap()
}
