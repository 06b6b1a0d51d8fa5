//! Figures over the history, as the report draws them.

use results::study::{Axis, Figure, FigureKind, Point, Scale, Series, X};

use super::judge::Judged;

/// A figure for each judged one: its values with their bounds, its levels, and a mark at each change.
pub(super) fn figures(judged: &[Judged]) -> Vec<Figure> {
    judged.iter().enumerate().map(|(i, of)| figure(i, of)).collect()
}

fn figure(index: usize, of: &Judged) -> Figure {
    let at = |i: usize| X::Number((i + 1) as f64);
    let measured = of.points.iter().enumerate().map(|(i, point)| Point {
        x: at(i),
        y: Some(point.kept.value),
        low: Some(point.kept.low),
        high: Some(point.kept.high),
        // More than enough for whiskers that are not dotted: they are bounds.
        n: point.kept.n.max(6),
        valid: point.kept.usable,
        note: Some(format!("commit {}", point.commit)),
        ..Point::default()
    });
    let series = |name: String, points: Vec<Point>| Series { name, points, ..Series::default() };
    let mut all = vec![series("measured".into(), measured.collect())];
    for (i, (from, to, level)) in of.levels().into_iter().enumerate() {
        let end = |place: usize, note: Option<String>| Point {
            x: at(place),
            y: Some(level),
            note,
            ..Point::default()
        };
        let change = i.checked_sub(1).map(|before| &of.changes[before]);
        let name = change.map_or("level".to_owned(), |change| {
            format!("{} from {}", if change.worse { "worse" } else { "better" }, of.points[change.at].commit)
        });
        let note = change.map(|change| change.words.clone());
        all.push(series(name, vec![end(from, note.clone()), end(to, note)]));
    }
    let changes: Vec<&str> = of.changes.iter().map(|change| change.words.as_str()).collect();
    let changes = if changes.is_empty() { String::new() } else { format!("{}. ", changes.join("; ")) };
    let axis = |label: &str, unit: &str| Axis {
        label: label.into(),
        unit: unit.into(),
        scale: Scale::Linear,
        ..Axis::default()
    };
    Figure {
        id: format!("figure-{index}"),
        title: of.name.clone(),
        kind: FigureKind::Lines,
        x: axis("result", ""),
        y: axis(&of.name, of.unit.name()),
        series: all,
        caption: format!(
            "{changes}Whiskers: bounds. Lines without whiskers: medians of the levels between changes. Hatched: bounds too wide for one number."
        ),
        ..Figure::default()
    }
}
