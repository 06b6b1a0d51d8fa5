//! The figures and claims present in both results of one study.

use results::study::{Figure, Series, X};
use results::{
    COMPARISON_SCHEMA, ComparedClaim, ComparedFigure, ComparedPoint, ComparedSeries, Comparison, Side, Study,
    Verdict, machine,
};

use super::ratio;

/// Compares `b` with `a`, results of one study in `folders`, figure by figure and claim by claim.
pub fn studies(a: &Study, b: &Study, folders: [&str; 2]) -> Comparison {
    let found = |figure: &Figure| b.figures.iter().find(|other| other.id == figure.id);
    let figures = a.figures.iter().filter_map(|figure| Some(compared([a, b], [figure, found(figure)?])));
    Comparison { figures: figures.collect(), claims: claims(a, b), ..sides([a, b], folders) }
}

/// The two results of one study, without their figures.
pub(super) fn sides(studies: [&Study; 2], folders: [&str; 2]) -> Comparison {
    let [a, b] = studies;
    let labels = studies.map(|study| study.host["name"].as_str().unwrap_or("unnamed"));
    let side = |i: usize, letter: &str| Side {
        label: if labels[0] == labels[1] { format!("{} ({letter})", labels[i]) } else { labels[i].into() },
        folder: folders[i].into(),
        target: None,
        machine: machine(&studies[i].host),
        created: studies[i].created.clone(),
        effort: Some(studies[i].effort),
    };
    Comparison {
        schema: COMPARISON_SCHEMA,
        a: side(0, "a"),
        b: side(1, "b"),
        study: Some(a.title.clone()),
        differences: differences(a, b),
        notes: vec!["The two sides were not measured at the same time: what changed besides the machine changed with it.".into()],
        ..Comparison::default()
    }
}

fn differences(a: &Study, b: &Study) -> Vec<String> {
    let facts = |study: &Study| {
        [
            ("study", study.name.clone()),
            ("effort", study.effort.words().to_owned()),
            ("blocks", study.blocks.to_string()),
            ("version of taillight", study.version.clone()),
            ("knobs", study.knobs.join(" ")),
            ("complete", study.complete.to_string()),
        ]
    };
    let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    let pairs = facts(a).into_iter().zip(facts(b));
    let mut found: Vec<String> = pairs
        .filter(|((_, a), (_, b))| a != b)
        .map(|((what, a), (_, b))| format!("{what}: {} and {}", or_none(a), or_none(b)))
        .collect();
    if !a.has_plan_of(b) {
        found.push("the resolved definitions differ".into());
    }
    found
}

fn compared(studies: [&Study; 2], figures: [&Figure; 2]) -> ComparedFigure {
    let mut left_out = Vec::new();
    let [ours, theirs] = figures
        .map(|figure| figure.series.iter().filter(|series| !series.published).collect::<Vec<&Series>>());
    for (one, other, side) in [(&ours, &theirs, "a"), (&theirs, &ours, "b")] {
        let alone = one.iter().filter(|series| !other.iter().any(|o| o.name == series.name));
        left_out.extend(alone.map(|series| format!("{}: on side {side} alone", series.name)));
    }
    let mut series = Vec::new();
    for one in ours {
        let Some(other) = theirs.iter().find(|other| other.name == one.name) else { continue };
        let points = one.points.iter().filter_map(|point| {
            let found = other.points.iter().find(|other| other.x == point.x)?;
            Some(of_cells(ratio::compared(point.clone(), found.clone(), None), studies, &one.name, &point.x))
        });
        let points: Vec<ComparedPoint> = points.collect();
        let alone = one.points.len() + other.points.len() - 2 * points.len();
        if alone > 0 {
            left_out.push(format!("{}: {alone} places on one side alone", one.name));
        }
        series.push(ComparedSeries { name: one.name.clone(), points });
    }
    let Figure { id, title, kind, x, y, .. } = figures[0].clone();
    ComparedFigure { id, title, kind, x, y, series, left_out }
}

/// `point` with the numbers of invalid and overloaded trials in its cells.
pub(super) fn of_cells(point: ComparedPoint, studies: [&Study; 2], series: &str, x: &X) -> ComparedPoint {
    let cells = || studies.into_iter().flat_map(|study| study.cells_at(series, x));
    let invalid = cells().filter(|cell| !cell.verdict.is_usable()).count();
    let overloaded = cells().any(|cell| matches!(cell.verdict, Verdict::Overloaded { .. }));
    // If no trial was valid, the invalid ones are shown.
    let left_out = point.a.valid && point.b.valid;
    ComparedPoint { invalid: if left_out { invalid as u32 } else { 0 }, overloaded, ..point }
}

fn claims(a: &Study, b: &Study) -> Vec<ComparedClaim> {
    let found = |study: &Study, id: &str| {
        study.claims.iter().find(|claim| claim.id == id).map(|claim| (claim.verdict, claim.measured.clone()))
    };
    let only_b = b.claims.iter().filter(|claim| !a.claims.iter().any(|other| other.id == claim.id));
    let all = a.claims.iter().chain(only_b);
    all.map(|claim| ComparedClaim {
        id: claim.id.clone(),
        text: claim.text.clone(),
        source: claim.source.clone(),
        a: found(a, &claim.id),
        b: found(b, &claim.id),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use results::study::{Cell, Effort, Point};
    use serde_json::json;

    use super::*;

    fn study(machine: &str, values: &[(f64, f64)]) -> Study {
        let point = |&(x, y): &(f64, f64)| Point {
            x: x.into(),
            y: Some(y),
            low: Some(y * 0.9),
            high: Some(y * 1.1),
            n: 7,
            ..Point::default()
        };
        let series = |name: &str, published| Series {
            name: name.into(),
            published,
            points: values.iter().map(point).collect(),
            ..Series::default()
        };
        Study {
            name: "latency-vs-load".into(),
            host: json!({"name": machine, "cpu": {"model": "X", "cores": ["0", "1"]}}),
            figures: vec![Figure {
                id: "f".into(),
                series: vec![series("sphinx", false), series("said", true)],
                ..Figure::default()
            }],
            ..Study::default()
        }
    }

    #[test]
    fn points_at_the_same_place_have_a_ratio() {
        let mut a = study("xeon", &[(10.0, 100.0), (50.0, 200.0), (90.0, 0.0)]);
        let mut b = study("arm", &[(10.0, 250.0), (50.0, 200.0), (70.0, 1.0), (90.0, 5.0)]);
        b.figures[0].series[0].points[1].valid = false;
        let cell =
            |x: f64, verdict| Cell { series: "sphinx".into(), x: x.into(), verdict, ..Cell::default() };
        let overloaded =
            Verdict::Overloaded { achieved_share: 0.9, backlog_growth_rps: 5.0, timed_out_share: 0.0 };
        a.cells =
            vec![cell(10.0, overloaded), cell(10.0, Verdict::default()), cell(50.0, Verdict::default())];
        let compared = studies(&a, &b, ["x", "y"]);
        assert_eq!((compared.a.label.as_str(), compared.b.label.as_str()), ("xeon", "arm"));
        assert_eq!(compared.a.machine, "X, 2 cores");
        let figure = &compared.figures[0];
        // The published series was not measured by either study.
        assert_eq!((figure.series.len(), figure.series[0].points.len()), (1, 3));
        let points = &figure.series[0].points;
        let ratios: Vec<Option<f64>> = points.iter().map(|point| point.ratio.map(|r| r.value)).collect();
        assert_eq!(ratios, [Some(2.5), Some(1.0), None]);
        let ratio = points[0].ratio.unwrap();
        assert!((ratio.low.unwrap() - 225.0 / 110.0).abs() < 1e-12);
        assert!((ratio.high.unwrap() - 275.0 / 90.0).abs() < 1e-12);
        assert_eq!((ratio.n, ratio.judged, ratio.p_value), (7, true, None));
        assert_eq!(
            points.iter().map(|p| (p.invalid, p.overloaded)).collect::<Vec<_>>(),
            [(1, true), (0, false), (0, false)]
        );
        assert_eq!(figure.left_out, ["sphinx: 1 places on one side alone"]);
        assert_eq!(compared.differences, [""; 0]);
    }

    #[test]
    fn what_differs_is_named() {
        let a = study("vm", &[]);
        let mut b = study("vm", &[]);
        (b.effort, b.seed, b.knobs) = (Effort::Full, 9, vec!["smt=off".into()]);
        b.figures[0].series[0].name = "memcached".into();
        let compared = studies(&a, &b, ["x", "y"]);
        assert_eq!((compared.a.label.as_str(), compared.b.label.as_str()), ("vm (a)", "vm (b)"));
        assert_eq!(compared.differences, ["effort: quick and full", "knobs: none and smt=off"]);
        let alone = ["sphinx: on side a alone", "memcached: on side b alone"];
        assert_eq!(compared.figures[0].left_out, alone);
    }
}
