//! A study as a run would write it, made up: a figure of each kind, claims of each verdict, and published values that
//! never published.

use results::study::*;
use results::{
    COMPARISON_SCHEMA, ComparedClaim, ComparedFigure, ComparedPoint, ComparedSeries, Comparison, Invalid,
    Ratio, Reason, Side, Verdict, machine,
};

fn axis(label: &str, unit: &str, scale: Scale) -> Axis {
    Axis { label: label.into(), unit: unit.into(), scale, categories: Vec::new() }
}

fn point(x: impl Into<X>, y: f64, spread: f64) -> Point {
    Point { x: x.into(), y: Some(y), low: Some(y / spread), high: Some(y * spread), n: 7, ..Point::default() }
}

fn said(x: impl Into<X>, y: f64) -> Point {
    Point { x: x.into(), y: Some(y), ..Point::default() }
}

fn own(name: &str, points: Vec<Point>) -> Series {
    Series { name: name.into(), published: false, source: None, points }
}

fn published(name: &str, points: Vec<Point>) -> Series {
    Series { name: name.into(), published: true, source: Some("Author'99, Fig. 1".into()), points }
}

fn lines() -> Figure {
    let loads = || (1..=10).map(|tenth| 10.0 * f64::from(tenth));
    let queue = |base: f64, load: f64| base / (1.02 - load / 100.0);
    let mut memcached: Vec<Point> = loads().map(|load| point(load, queue(90.0, load), 1.15)).collect();
    memcached[5].valid = false;
    memcached[5].note = Some("generator lag over 100 µs".into());
    memcached[8].y = None;
    Figure {
        id: "latency".into(),
        title: "p99 against load".into(),
        kind: FigureKind::Lines,
        x: axis("load", "%", Scale::Linear),
        y: axis("99th percentile", "us", Scale::Log),
        series: vec![
            own("memcached", memcached),
            own("sphinx", loads().map(|load| point(load, queue(60.0, load), 1.05)).collect()),
            published("memcached, Xeon", [10.0, 70.0, 90.0].map(|load| said(load, queue(70.0, load))).into()),
        ],
        qos_us: Some(1000.0),
        caption: "The median over 7 blocks.".into(),
        overloaded: Some("memcached at 100 %: 4 of 7 trials overloaded".into()),
    }
}

fn bars() -> Figure {
    let names = ["bare", "bridged", "lxc", "podman"];
    let values = [100.0, 118.0, 121.0, 130.0];
    let points =
        |factor: f64| names.iter().zip(values).map(|(name, y)| point(*name, y * factor, 1.04)).collect();
    Figure {
        id: "containers".into(),
        title: "p99 in a container at 10 % load".into(),
        kind: FigureKind::Bars,
        x: Axis { categories: names.map(str::to_owned).into(), ..axis("form", "", Scale::Linear) },
        y: axis("99th percentile", "us", Scale::Linear),
        series: vec![
            own("memcached", points(1.0)),
            own("sphinx", points(0.7)),
            published("memcached, Xeon", vec![said("bare", 90.0), said("lxc", 117.0)]),
        ],
        ..Figure::default()
    }
}

fn matrix() -> Figure {
    let columns = [10.0, 30.0, 50.0, 70.0];
    let label = |row: usize, column: usize| match row + column {
        0..=2 => "MN",
        3 => "M",
        4 => "N",
        5 => "–",
        _ => "?",
    };
    let row = |row: usize| Series {
        name: format!("{} %", 10 + 20 * row),
        points: (0..4)
            .map(|column| Point {
                x: columns[column].into(),
                label: Some(label(row, column).into()),
                published: Some(
                    match (row, column) {
                        (1, 1) => "M",
                        (3, 3) => "–",
                        _ => label(row, column),
                    }
                    .into(),
                ),
                valid: (row, column) != (3, 3),
                n: 3,
                ..Point::default()
            })
            .collect(),
        ..Series::default()
    };
    Figure {
        id: "matrix".into(),
        title: "Who meets the target".into(),
        kind: FigureKind::Matrix,
        x: axis("NGINX load", "%", Scale::Linear),
        y: axis("Memcached load", "%", Scale::Linear),
        series: (0..4).map(row).collect(),
        ..Figure::default()
    }
}

fn percentiles() -> Figure {
    let curve = |base: f64| -> Vec<Point> {
        let at = |p: f64| said(p, base * (1.0 - (1.0 - p / 100.0).ln()));
        [0.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.0, 98.0, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0].map(at).into()
    };
    Figure {
        id: "curves".into(),
        title: "Reads at 288 connections, closed loop at depth 1".into(),
        kind: FigureKind::Percentiles,
        x: axis("percentile", "", Scale::Linear),
        y: axis("response time", "us", Scale::Log),
        series: vec![
            own("memcached", curve(60.0)),
            own("sphinx", curve(40.0)),
            published("memcached, modern", vec![said(99.0, 700.0)]),
        ],
        ..Figure::default()
    }
}

fn claim(id: &str, verdict: ClaimVerdict, p_value: Option<f64>) -> ClaimResult {
    ClaimResult {
        id: id.into(),
        text: format!("The claim called {id}"),
        source: "Author'99 §4".into(),
        verdict,
        measured: "met up to 71 % [66 %, 75 %] of the maximum".into(),
        reason: "7 blocks; the interval holds the published value".into(),
        p_value,
        host_disturbed: false,
        more_blocks: None,
    }
}

/// A study with everything that a page can show.
pub fn study() -> Study {
    let cell = |series: &str, load: f64, block: u32| Cell {
        series: series.into(),
        x: load.into(),
        block,
        metrics: [("offered_rps".to_owned(), 1000.0 * load), ("latency_us_p99".to_owned(), 90.0 + load)]
            .into(),
        verdict: Verdict::Valid,
        trial: Some(format!("{series}-{block}#0001")),
        ..Cell::default()
    };
    let mut cells: Vec<Cell> =
        (0..3).flat_map(|block| ["memcached", "sphinx"].map(|series| cell(series, 70.0, block))).collect();
    let reasons =
        vec![Invalid { reason: Reason::GeneratorLag, detail: "p99 of 130 µs, limit 100 µs".into() }];
    cells[2].verdict = Verdict::Invalid { reasons };
    cells[3].trial = Some("../elsewhere#0001".into());
    Study {
        schema: STUDY_SCHEMA,
        name: "latency-vs-load".into(),
        title: "Latency against load".into(),
        question: "Up to which load does the tail meet its target?".into(),
        source: "Author'99 Fig. 1".into(),
        method: "Open loop, Poisson arrivals, 7 blocks.".into(),
        deviations: vec!["1 thread rather than 7".into()],
        effort: Effort::Full,
        created: "2026-01-02T03:04:05Z".into(),
        elapsed_s: 1234.5,
        complete: true,
        interrupted: None,
        command: ["taillight", "study", "run", "latency-vs-load"].map(str::to_owned).into(),
        version: "0.1.0".into(),
        seed: 7,
        blocks: 7,
        plan: Some(PlanRecord {
            blocks: 7,
            points: vec![PlannedPoint { series: "memcached".into(), ..PlannedPoint::default() }],
            ..PlanRecord::default()
        }),
        host: serde_json::json!({"cpu": {"model": "A processor"}}),
        knobs: vec!["cpu.set=0".into()],
        notes: vec!["Server and generator have one core each.".into()],
        limits: vec!["2 cores: up to 1 server thread beside its generator".into()],
        figures: vec![lines(), bars(), matrix(), percentiles()],
        tables: vec![Table {
            id: "threads".into(),
            title: "p99 by threads".into(),
            columns: ["threads", "p99", "what"].map(str::to_owned).into(),
            rows: vec![
                Row { published: true, cells: vec!["4".into(), Entry::quantity(904.0, "us"), "".into()] },
                Row {
                    published: false,
                    cells: vec![
                        "4".into(),
                        Entry::Quantity {
                            value: 850.0,
                            unit: "us".into(),
                            low: Some(800.0),
                            high: Some(910.0),
                        },
                        "met".into(),
                    ],
                },
            ],
            source: "Author'99 Table V".into(),
            overloaded: Some("memcached at 4: 2 of 7 trials overloaded".into()),
        }],
        claims: vec![
            claim("first", ClaimVerdict::Reproduced, Some(0.004)),
            claim("second", ClaimVerdict::Differs, None),
            claim("third", ClaimVerdict::NotMeasurable, None),
        ],
        skipped: vec![Skipped { what: "SMT".into(), reason: "each core shows one thread".into() }],
        cells,
        ..Study::default()
    }
}

/// The comparison of two results of [`study`]: their figures at common places of common series.
pub fn compared(a: &Study, b: &Study) -> Comparison {
    let side = |study: &Study, label: &str| Side {
        label: study.host["name"].as_str().unwrap_or(label).into(),
        folder: label.into(),
        machine: machine(&study.host),
        effort: Some(study.effort),
        ..Side::default()
    };
    let over = |b: Option<f64>, a: Option<f64>| b.zip(a).map(|(b, a)| b / a).filter(|ratio| *ratio > 0.0);
    let point = |a: &Point, b: &Point| {
        let (low, high, n) = (over(b.low, a.high), over(b.high, a.low), a.n.min(b.n));
        let ratio = over(b.y, a.y).map(|value| Ratio { value, low, high, n, judged: n >= 6, p_value: None });
        ComparedPoint { a: a.clone(), b: b.clone(), ratio, ..ComparedPoint::default() }
    };
    let series = |(a, b): (&Series, &Series)| ComparedSeries {
        name: a.name.clone(),
        points: a.points.iter().zip(&b.points).map(|(a, b)| point(a, b)).collect(),
    };
    let figure = |(a, b): (&Figure, &Figure)| {
        let both = a.series.iter().zip(&b.series).filter(|(a, _)| !a.published);
        let Figure { id, title, kind, x, y, .. } = a.clone();
        let left_out = vec!["nginx: on side a alone".into()];
        ComparedFigure { id, title, kind, x, y, series: both.map(series).collect(), left_out }
    };
    let claim = |claim: &ClaimResult| ComparedClaim {
        id: claim.id.clone(),
        text: claim.text.clone(),
        source: claim.source.clone(),
        a: Some((claim.verdict, claim.measured.clone())),
        b: None,
    };
    Comparison {
        schema: COMPARISON_SCHEMA,
        a: side(a, "a"),
        b: side(b, "b"),
        study: Some(a.title.clone()),
        figures: a.figures.iter().zip(&b.figures).map(figure).collect(),
        claims: a.claims.iter().map(claim).collect(),
        ..Comparison::default()
    }
}

/// Incomplete and damaged studies, each with its name.
pub fn studies_in_trouble() -> Vec<(&'static str, Study)> {
    let empty = Study { title: "Empty".into(), interrupted: Some("Ctrl-C".into()), ..Study::default() };
    let mut hollow = study();
    for figure in &mut hollow.figures {
        figure.series.iter_mut().for_each(|series| series.points.clear());
    }
    let mut bare = study();
    bare.figures.iter_mut().for_each(|figure| figure.series.clear());
    bare.tables[0].rows.clear();
    let mut wild = study();
    for point in wild.figures.iter_mut().flat_map(|figure| &mut figure.series).flat_map(|s| &mut s.points) {
        (point.y, point.low, point.high) = (Some(f64::INFINITY), Some(f64::NAN), Some(-1.0));
    }
    let mut zeros = study();
    for point in zeros.figures.iter_mut().flat_map(|figure| &mut figure.series).flat_map(|s| &mut s.points) {
        (point.x, point.y, point.low, point.high) = (0.0.into(), Some(0.0), Some(0.0), Some(0.0));
    }
    let mut mixed = study();
    mixed.figures[0].series[0].points[0].x = "a name among numbers".into();
    mixed.figures[1].series[0].points[0].x = 7.0.into();
    let mut broken = study();
    let evil = "</script><img src=x onerror=alert(1)>\"'";
    broken.title = evil.into();
    broken.figures[0].title = evil.into();
    broken.figures[0].series[0].name = evil.into();
    broken.figures[0].series[0].points[0].note = Some(evil.into());
    broken.claims[0].text = evil.into();
    broken.cells[0].trial = Some(evil.into());
    broken.tables[0].rows[0].cells[0] = evil.into();
    vec![
        ("empty", empty),
        ("figures without points", hollow),
        ("figures without series", bare),
        ("values out of every range", wild),
        ("zeros", zeros),
        ("places of both kinds", mixed),
        ("markup in names", broken),
    ]
}
