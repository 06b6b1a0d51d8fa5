//! The output as other tools read it: column by column, line by line, and byte by byte if a library reads it back.

use std::collections::BTreeSet;

use export::{Cell, Metrics, Type, trials, windows};
use proptest::prelude::*;
use results::{
    AgentRecord, Arrivals, Basis, Bounds, ClosedLoop, DistributionSummary, Disturbance, ErrorCount,
    Experiment, Invalid, LatencySummary, Lateness, LoopKind, PercentileBounds, Reason, ServerFigures,
    Sessions, TimeBounds, Traffic, Transport, Trial, Verdict, Within,
};

/// A result that was measured, of the first schema.
fn measured() -> Experiment {
    serde_json::from_str(include_str!("../../results/tests/fixtures/v1-sweep.json")).unwrap()
}

/// A trial with every metric.
fn trial() -> Trial {
    let times = LatencySummary {
        count: 1_000,
        mean_us: Some(50.0),
        p50_us: Some(40.0),
        p99_us: Some(900.0),
        max_us: Some(2_000.0),
        ..LatencySummary::default()
    };
    let mut trial = Trial {
        id: "0001".into(),
        target: "a \"quoted\" \\ name\nof two lines".into(),
        offered_rps: 1_000.0,
        achieved_rps: 999.5,
        loop_kind: LoopKind::Closed,
        closed_loop: Some(ClosedLoop {
            clients: 4,
            think_time_us: 0.0,
            expected_interval_us: Some(100.0),
            uncorrected: times.clone(),
            corrected: Some(times.clone()),
        }),
        transport: Some(Transport::UdpTcp),
        arrivals: Arrivals { intended: 1_000, completed: 990, errors: 6, timeouts: 4, unfinished: 0 },
        within: vec![Within { target_us: 1_000.0, share: 0.992 }],
        traffic: Traffic::over(10_000, 200_000, 1.0),
        errors: vec![ErrorCount {
            kind: "server_error".into(),
            count: 6,
            requests: Some(6),
            first_detail: None,
        }],
        servers: vec![ServerFigures { address: "b:1".into(), requests: 7, ..ServerFigures::default() }],
        windowed_p99_us: Some(850.0),
        lateness: Some(Lateness {
            over_us: 20.0,
            requests: 30,
            windows: 2,
            limit_us: Some(90.0),
            response_time: LatencySummary { p99_us: Some(880.0), ..times.clone() },
        }),
        disturbance: Some(Disturbance {
            windows: 10,
            window_ms: 100.0,
            undisturbed_windows: 7,
            touched_share: 0.01,
            server_taken_share: Some(0.004),
            generator_taken_share: None,
            windowed_p99_of_all_us: None,
            p99_at_least_us: Some(700.0),
            undisturbed: Some(LatencySummary { p99_us: Some(800.0), ..times.clone() }),
            basis: Basis::UndisturbedWindows,
        }),
        verdict: Verdict::Valid,
        ..Trial::default()
    };
    trial.all.name = "all".into();
    trial.all.response_time = times;
    trial.gates = vec!["p99<2ms".parse::<results::Gate>().unwrap().evaluate(&trial)];
    trial
}

#[test]
fn every_trial_and_window_is_a_row() {
    let experiment = measured();
    let (trials, windows) = (trials(&experiment), windows(&experiment));
    assert_eq!(trials.rows.len(), experiment.trials.len());
    assert_eq!(windows.rows.len(), experiment.trials.iter().map(|trial| trial.windows.len()).sum::<usize>());
    for table in [&trials, &windows] {
        let names: BTreeSet<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), table.columns.len(), "names are unique");
        for row in &table.rows {
            for (column, cell) in table.columns.iter().zip(row) {
                let fits = match cell {
                    Cell::Empty => true,
                    Cell::Text(_) => column.kind == Type::Text,
                    Cell::Count(_) => column.kind == Type::Count,
                    Cell::Number(_) => column.kind == Type::Number,
                    Cell::Flag(_) => column.kind == Type::Flag,
                };
                assert!(fits, "{}: {cell:?}", column.name);
            }
        }
    }
    let csv = trials.csv();
    assert_eq!(csv.lines().count(), 1 + experiment.trials.len());
    let place = |name: &str| trials.columns.iter().position(|column| column.name == name).unwrap();
    let p99 = place("response_time_us_p99");
    for (row, trial) in trials.rows.iter().zip(&experiment.trials) {
        assert_eq!(row[p99], trial.all.response_time.p99_us.into());
    }
    assert!(csv.starts_with("result,trial,target,purpose,block,started,verdict,usable,"), "{csv:.100}");
}

#[test]
fn a_closed_loop_says_so_in_every_format() {
    let experiment = Experiment { trials: vec![trial()], ..measured() };
    let table = trials(&experiment);
    let cell = |name: &str| {
        let place = table.columns.iter().position(|column| column.name == name).unwrap();
        table.rows[0][place].clone()
    };
    assert_eq!((cell("loop"), cell("corrected_us_p99")), ("closed".into(), 900.0.into()));
    assert_eq!((cell("within_us_share"), cell("gates_failed")), ("1000:0.992".into(), 0u64.into()));
    assert!(Metrics::of_trial("r", &trial()).openmetrics().contains("loop=\"closed\""));
}

#[test]
fn sessions_that_are_closed_loops_say_so_in_every_format() {
    let mut of_viewers = Trial { loop_kind: LoopKind::Open, closed_loop: None, ..trial() };
    (of_viewers.sessions, of_viewers.offered_rps) = (Some(Sessions::default()), 2.5);
    of_viewers.windows = vec![results::WindowPoint::default()];
    let told = |trial: &Trial| {
        let experiment = Experiment { trials: vec![trial.clone()], ..measured() };
        let text = Metrics::of_trial("r", trial).openmetrics();
        let label = text.split("loop=\"").nth(1).unwrap().split('"').next().unwrap();
        for table in [trials(&experiment), windows(&experiment)] {
            let place = table.columns.iter().position(|column| column.name == "loop").unwrap();
            assert_eq!(table.rows[0][place], label.into());
        }
        let table = trials(&experiment);
        let cell = |name: &str| {
            let place = table.columns.iter().position(|column| column.name == name).unwrap();
            table.rows[0][place].clone()
        };
        let in_sessions = text.contains("offered_sessions_per_second");
        assert_ne!(in_sessions, text.contains("offered_requests_per_second"));
        assert_eq!(cell("offered_sessions_per_s") == Cell::Empty, !in_sessions);
        assert_eq!(cell("offered_rps") == Cell::Empty, in_sessions);
        (label.to_owned(), in_sessions)
    };
    let mut check = |pacing: &str, expect: &str| {
        let workload = serde_json::json!({ "kind": "video", "pacing": pacing });
        of_viewers.spec = Some(serde_json::from_value(serde_json::json!({ "workload": workload })).unwrap());
        assert_eq!(told(&of_viewers), (expect.to_owned(), true), "{pacing}");
    };
    check("open", "open");
    check("closed", "closed within sessions");
    check("player", "closed within sessions");
    // A fixed number of users: achieved counts steps, and the offered load is empty.
    of_viewers.loop_kind = LoopKind::Closed;
    assert_eq!(told(&of_viewers), ("closed".to_owned(), false));
}

#[test]
fn what_sessions_felt_is_told_in_columns_and_metrics() {
    let mut of_sessions = trial();
    (of_sessions.loop_kind, of_sessions.closed_loop) = (LoopKind::Open, None);
    of_sessions.offered_rps = 2.5;
    let startup = DistributionSummary {
        count: 300,
        mean_us: Some(500_000.0),
        p50_us: Some(400_000.0),
        p95_us: Some(900_000.0),
        ..DistributionSummary::default()
    };
    let distributions = [("startup".to_owned(), startup)].into();
    of_sessions.sessions = Some(Sessions {
        begun: 90,
        underway: 380,
        live_mean: 385.5,
        live_max: 400,
        distributions,
        ..Sessions::default()
    });
    of_sessions.counters = [("rebuffer_ratio".to_owned(), 0.002), ("stalls_per_hour".to_owned(), 1.5)].into();
    let experiment = Experiment { trials: vec![of_sessions.clone(), trial()], ..measured() };
    let table = trials(&experiment);
    let cell = |row: usize, name: &str| {
        let place = table.columns.iter().position(|column| column.name == name).expect(name);
        table.rows[row][place].clone()
    };
    let check = |name: &str, expect: Cell| assert_eq!(cell(0, name), expect, "{name}");
    check("offered_rps", Cell::Empty);
    check("offered_sessions_per_s", 2.5.into());
    check("sessions_underway", 380u64.into());
    check("sessions_live_mean", 385.5.into());
    check("startup_us_p95", 900_000.0.into());
    check("startup_us_p99", Cell::Empty);
    check("stalls_per_hour", 1.5.into());
    check("rebuffer_ratio", 0.002.into());
    check("misses", 0.01.into());
    check("sessions_met", Cell::Empty);
    assert_eq!((cell(1, "offered_rps"), cell(1, "misses")), (1_000.0.into(), Cell::Empty));
    assert_eq!((cell(1, "sessions_begun"), cell(1, "offered_sessions_per_s")), (Cell::Empty, Cell::Empty));
    let text = Metrics::of_trial("result", &of_sessions).openmetrics();
    for line in [
        "taillight_offered_sessions_per_second{",
        "taillight_sessions_total{",
        "outcome=\"underway\"} 380",
        "of=\"mean\"} 385.5",
        "of=\"startup\",quantile=\"0.95\"} 0.9",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("offered_requests_per_second"));
    assert!(!Metrics::of_trial("result", &trial()).openmetrics().contains("session"));
}

#[test]
fn what_generator_and_host_did_is_told_in_columns() {
    let p99 = PercentileBounds { percentile: 99.0, bounds: Bounds { low_us: 600.0, high_us: 900.0 } };
    let windowed_p99 = Some(Bounds { low_us: 500.0, high_us: 850.0 });
    let slowed = Some(Invalid { reason: Reason::HostDisturbed, detail: String::new() });
    let bounds = TimeBounds { percentiles: vec![p99], windowed_p99, slowed, ..TimeBounds::default() };
    let bounded = Trial { bounds: Some(bounds), ..trial() };
    let experiment = Experiment { trials: vec![bounded, Trial::default()], ..measured() };
    let table = trials(&experiment);
    let cells = |name: &str| {
        let place = table.columns.iter().position(|column| column.name == name).expect(name);
        [table.rows[0][place].clone(), table.rows[1][place].clone()]
    };
    let expect: [(&str, Cell); 15] = [
        ("late_count", 30u64.into()),
        ("late_windows", 2u64.into()),
        ("late_limit_us", 90.0.into()),
        ("in_time_us_p99", 880.0.into()),
        ("undisturbed_windows", 7u64.into()),
        ("rests_on", "undisturbed_windows".into()),
        ("touched_share", 0.01.into()),
        ("server_taken_share", 0.004.into()),
        ("at_least_us_p99", 700.0.into()),
        ("undisturbed_us_p99", 800.0.into()),
        ("low_us_p99", 600.0.into()),
        ("high_us_p99", 900.0.into()),
        ("low_us_windowed_p99", 500.0.into()),
        ("high_us_windowed_p99", 850.0.into()),
        ("slowed", "host disturbed".into()),
    ];
    // Results of earlier versions lack these figures.
    for (name, cell) in expect {
        assert_eq!(cells(name), [cell, Cell::Empty], "{name}");
    }
    assert_eq!(cells("generator_taken_share"), [Cell::Empty, Cell::Empty]);
    assert_eq!(cells("low_us_p50"), [Cell::Empty, Cell::Empty]);
}

#[test]
fn openmetrics_are_the_text_of_the_specification() {
    let text = Metrics::of_trial("20260314-demo", &trial()).openmetrics();
    let labels =
        r#"result="20260314-demo",target="a \"quoted\" \\ name\nof two lines",trial="0001",loop="closed""#;
    for line in [
        "# TYPE taillight_response_time_seconds summary",
        "# UNIT taillight_response_time_seconds seconds",
        &format!("taillight_response_time_seconds{{{labels},operation=\"all\",quantile=\"0.99\"}} 0.0009"),
        &format!("taillight_response_time_seconds_count{{{labels},operation=\"all\"}} 1000"),
        &format!("taillight_response_time_seconds_sum{{{labels},operation=\"all\"}} 0.05"),
        &format!("taillight_requests_total{{{labels},outcome=\"timeout\"}} 4"),
        &format!("taillight_within_target_ratio{{{labels},target_seconds=\"0.001\"}} 0.992"),
        &format!("taillight_sent_bytes_total{{{labels}}} 10000"),
        &format!("taillight_gate_passed{{{labels},gate=\"p99<2ms\"}} 1"),
        &format!("taillight_late_requests_total{{{labels}}} 30"),
        &format!("taillight_in_time_response_time_seconds{{{labels},quantile=\"0.99\"}} 0.00088"),
        &format!("taillight_windows{{{labels},kind=\"undisturbed\"}} 7"),
        &format!("taillight_taken_ratio{{{labels},side=\"server\"}} 0.004"),
        &format!("taillight_undisturbed_response_time_seconds{{{labels},quantile=\"0.99\"}} 0.0008"),
        &format!("taillight_server_requests_total{{{labels},server=\"b:1\"}} 7"),
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
    }
    well_formed(&text);
    for old in &measured().trials {
        well_formed(&Metrics::of_trial("old", old).openmetrics());
    }
    // No series appears twice, even if agents share a name or a gate was given twice.
    let agent = |address: &str| AgentRecord {
        name: "vm".into(),
        address: address.into(),
        clock_offset_us: Some(1.0),
        ..AgentRecord::default()
    };
    let gates = [trial().gates, trial().gates].concat();
    let twice = Trial { agents: vec![agent("a:1"), agent("b:1")], gates, ..trial() };
    let text = Metrics::of_trial("r", &twice).openmetrics();
    well_formed(&text);
    assert!(text.contains(r#"agent="vm (b:1)""#), "{text}");
}

/// The specification's rules for every exposition: metadata first, families once and whole, units in names, `_total` on
/// counters, numbers, no point twice, and the end.
fn well_formed(text: &str) {
    let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    let (mut families, mut points, mut current) = (BTreeSet::new(), BTreeSet::new(), ("", ""));
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            current = rest.split_once(' ').unwrap();
            assert!(families.insert(current.0), "{line}: a family stands once");
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap();
            assert!(name == current.0 && name.ends_with(&format!("_{unit}")), "{line}");
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            assert_eq!(rest.split_once(' ').unwrap().0, current.0, "{line}");
        } else {
            let (point, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
            assert!(points.insert(point), "{line}: a point stands once");
            let suffix = point.split('{').next().unwrap().strip_prefix(current.0).expect(line);
            let allowed: &[&str] = match current.1 {
                "counter" => &["_total"],
                "gauge" => &[""],
                "summary" => &["", "_count", "_sum"],
                "histogram" => &["_bucket", "_count", "_sum"],
                other => panic!("{other} is not a type"),
            };
            assert!(allowed.contains(&suffix), "{line}");
        }
    }
}

proptest! {
    #[test]
    fn no_name_breaks_the_text(name in "\\PC{0,20}|[\"\\\\\n{}, ]{0,10}") {
        let named = Trial { target: name.clone(), id: name, ..trial() };
        well_formed(&Metrics::of_trial("r", &named).openmetrics());
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_reads_back_cell_by_cell() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let experiment = measured();
    for table in [trials(&experiment), windows(&experiment)] {
        let bytes = table.parquet().unwrap();
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), table.rows.len());
        for (row, expect) in rows.iter().zip(&table.rows) {
            for (((name, field), cell), column) in row.get_column_iter().zip(expect).zip(&table.columns) {
                let read = match field {
                    Field::Null => Cell::Empty,
                    Field::Str(text) => text.as_str().into(),
                    Field::Long(n) => Cell::Count(*n as u64),
                    Field::Double(value) => Cell::Number(*value),
                    Field::Bool(flag) => Cell::Flag(*flag),
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!((name.as_str(), &read), (column.name, cell));
            }
        }
    }
}
