use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Axis, ClaimVerdict, Figure, FigureKind, Form, Point, Series, Study, X};
use crate::tables::machine;

/// One study on two machines: every point of both with its ratio, and the verdicts beside each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyComparison {
    /// The first side, the denominator of every ratio.
    pub a: StudySide,
    /// The second side.
    pub b: StudySide,
    /// The study's name.
    pub name: String,
    /// What differs between the two besides the machine, in words; reasons for doubt.
    pub differences: Vec<String>,
    /// The figures that both have.
    pub figures: Vec<ComparedFigure>,
    /// The claims that either has.
    pub claims: Vec<ComparedClaim>,
}

/// One side of a comparison of studies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudySide {
    /// How tables call it: the machine's name, or `a` and `b` where both are called the same.
    pub label: String,
    /// The folder that it came from.
    pub folder: String,
    /// The machine, in a line.
    pub machine: String,
    /// When it was measured.
    pub created: String,
    /// How much was.
    pub form: Form,
}

/// A figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedFigure {
    /// The name that it has within the study.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// How it is drawn.
    pub kind: FigureKind,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The measured series of both sides.
    pub series: Vec<ComparedSeries>,
    /// Series and points that one side alone has, in words.
    pub left_out: Vec<String>,
}

/// A series of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSeries {
    /// Its name.
    pub name: String,
    /// The places that both have.
    pub points: Vec<ComparedPoint>,
}

/// A point of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedPoint {
    /// Where.
    pub x: X,
    /// Side a, in the unit of the vertical axis.
    pub a: Option<f64>,
    /// Side b.
    pub b: Option<f64>,
    /// b over a; `None` where either is absent or not over 0.
    pub ratio: Option<f64>,
    /// The least ratio that the two intervals allow.
    pub low: Option<f64>,
    /// The largest.
    pub high: Option<f64>,
    /// Whether all repeats of both were valid.
    pub valid: bool,
    /// Of a matrix: the text of the cell of side a.
    pub label_a: Option<String>,
    /// Of a matrix: the text of the cell of side b.
    pub label_b: Option<String>,
}

/// A claim on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedClaim {
    /// Its name within the study.
    pub id: String,
    /// What is claimed.
    pub text: String,
    /// Who claims it, and where.
    pub source: String,
    /// The verdict of side a and what was measured there; `None` where that side did not judge it.
    pub a: Option<(ClaimVerdict, String)>,
    /// The same of side b.
    pub b: Option<(ClaimVerdict, String)>,
}

impl StudyComparison {
    /// Sets `b` beside `a`, which lie in `folders`.
    pub fn of(a: &Study, b: &Study, folders: [&str; 2]) -> StudyComparison {
        let [mut side_a, mut side_b] =
            [(a, folders[0]), (b, folders[1])].map(|(study, folder)| side(study, folder));
        if side_a.label == side_b.label {
            (side_a.label, side_b.label) = (format!("{} (a)", side_a.label), format!("{} (b)", side_b.label));
        }
        let pair =
            |figure: &Figure| Some(compared(figure, b.figures.iter().find(|other| other.id == figure.id)?));
        StudyComparison {
            a: side_a,
            b: side_b,
            name: a.name.clone(),
            differences: differences(a, b),
            figures: a.figures.iter().filter_map(pair).collect(),
            claims: claims(a, b),
        }
    }
}

fn side(study: &Study, folder: &str) -> StudySide {
    StudySide {
        label: study.host["name"].as_str().unwrap_or("unnamed").into(),
        folder: folder.into(),
        machine: machine(&study.host),
        created: study.created.clone(),
        form: study.form,
    }
}

fn differences(a: &Study, b: &Study) -> Vec<String> {
    let facts = |study: &Study| {
        [
            ("study", study.name.clone()),
            ("form", study.form.words().to_owned()),
            ("blocks", study.blocks.to_string()),
            ("version of taillight", study.version.clone()),
            ("knobs", study.knobs.join(" ")),
            ("complete", study.complete.to_string()),
        ]
    };
    let pairs = facts(a).into_iter().zip(facts(b));
    let mut found: Vec<String> = pairs
        .filter(|((_, a), (_, b))| a != b)
        .map(|((what, a), (_, b))| format!("{what}: {} and {}", or_none(&a), or_none(&b)))
        .collect();
    if !a.has_plan_of(b) {
        found.push("the resolved definitions differ".into());
    }
    found
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn compared(a: &Figure, b: &Figure) -> ComparedFigure {
    let mut left_out = Vec::new();
    let own = |figure: &Figure| -> Vec<Series> {
        figure.series.iter().filter(|series| !series.published).cloned().collect()
    };
    let (ours, theirs) = (own(a), own(b));
    for (one, other, side) in [(&ours, &theirs, "a"), (&theirs, &ours, "b")] {
        let alone = one.iter().filter(|series| !other.iter().any(|o| o.name == series.name));
        left_out.extend(alone.map(|series| format!("{}: on side {side} alone", series.name)));
    }
    let series = ours.iter().filter_map(|one| {
        let other = theirs.iter().find(|other| other.name == one.name)?;
        let points = one.points.iter().filter_map(|point| {
            Some(compared_point(point, other.points.iter().find(|other| other.x == point.x)?))
        });
        let points: Vec<ComparedPoint> = points.collect();
        let alone = one.points.len() + other.points.len() - 2 * points.len();
        if alone > 0 {
            left_out.push(format!("{}: {alone} places on one side alone", one.name));
        }
        Some(ComparedSeries { name: one.name.clone(), points })
    });
    let series = series.collect();
    ComparedFigure {
        id: a.id.clone(),
        title: a.title.clone(),
        kind: a.kind,
        x: a.x.clone(),
        y: a.y.clone(),
        series,
        left_out,
    }
}

fn compared_point(a: &Point, b: &Point) -> ComparedPoint {
    let over = |b: Option<f64>, a: Option<f64>| {
        let (b, a) = (b?, a?);
        (a > 0.0 && b > 0.0).then(|| b / a).filter(|ratio| ratio.is_finite())
    };
    let ratio = over(b.y, a.y);
    // The two sides are independent: the farthest ends of their intervals bound the ratio, with a little to spare.
    let (low, high) = (over(b.low, a.high), over(b.high, a.low));
    ComparedPoint {
        x: a.x.clone(),
        a: a.y,
        b: b.y,
        ratio,
        low: ratio.and(low),
        high: ratio.and(high),
        valid: a.valid && b.valid,
        label_a: a.label.clone(),
        label_b: b.label.clone(),
    }
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
    use super::*;
    use serde_json::json;

    fn study(machine: &str, values: &[(f64, f64)]) -> Study {
        let point = |&(x, y): &(f64, f64)| Point {
            x: x.into(),
            y: Some(y),
            low: Some(y * 0.9),
            high: Some(y * 1.1),
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
        let a = study("xeon", &[(10.0, 100.0), (50.0, 200.0), (90.0, 0.0)]);
        let mut b = study("arm", &[(10.0, 250.0), (50.0, 200.0), (70.0, 1.0), (90.0, 5.0)]);
        b.figures[0].series[0].points[1].valid = false;
        let compared = StudyComparison::of(&a, &b, ["x", "y"]);
        assert_eq!((compared.a.label.as_str(), compared.b.label.as_str()), ("xeon", "arm"));
        assert_eq!(compared.a.machine, "X, 2 cores");
        let figure = &compared.figures[0];
        // The published series was not measured by either study.
        assert_eq!((figure.series.len(), figure.series[0].points.len()), (1, 3));
        let points = &figure.series[0].points;
        assert_eq!(points.iter().map(|p| p.ratio).collect::<Vec<_>>(), [Some(2.5), Some(1.0), None]);
        assert!((points[0].low.unwrap() - 225.0 / 110.0).abs() < 1e-12);
        assert!((points[0].high.unwrap() - 275.0 / 90.0).abs() < 1e-12);
        assert_eq!(points.iter().map(|p| p.valid).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!((points[2].low, points[2].high), (None, None));
        assert_eq!(figure.left_out, ["sphinx: 1 places on one side alone"]);
        assert_eq!(compared.differences, [""; 0]);
    }

    #[test]
    fn what_differs_is_named() {
        let a = study("vm", &[]);
        let mut b = study("vm", &[]);
        (b.form, b.seed, b.knobs) = (Form::Full, 9, vec!["smt=off".into()]);
        b.figures[0].series[0].name = "memcached".into();
        let compared = StudyComparison::of(&a, &b, ["x", "y"]);
        assert_eq!((compared.a.label.as_str(), compared.b.label.as_str()), ("vm (a)", "vm (b)"));
        assert_eq!(compared.differences, ["form: quick and full", "knobs: none and smt=off"]);
        let alone = ["sphinx: on side a alone", "memcached: on side b alone"];
        assert_eq!(compared.figures[0].left_out, alone);
    }
}
