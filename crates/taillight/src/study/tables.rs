//! A study on a terminal: its tables, its figures as tables, its claims.

use results::Study;
use results::study::{Entry, Figure, FigureKind, Point, Table, X};

/// Everything that a reader wants at once.
pub(crate) fn table(study: &Study) -> String {
    let mut text = format!("{} ({}, {} form)\n", study.title, study.source, study.form.words());
    if !study.complete {
        text += &format!(
            "PARTIAL: {} whole blocks; ended by {}\n",
            study.blocks,
            study.interrupted.as_deref().unwrap_or("something that left no word")
        );
    }
    for figure in &study.figures {
        text += &format!("\n{}", figure_text(figure));
    }
    for table in &study.tables {
        text += &format!("\n{}", table_text(table));
    }
    if !study.claims.is_empty() {
        text += "\nClaims\n";
    }
    for claim in &study.claims {
        text +=
            &format!("  {}: {}\n    {}\n", claim.verdict.words().to_uppercase(), claim.text, claim.source);
        for words in [&claim.measured, &claim.reason] {
            if !words.is_empty() {
                text += &format!("    {words}\n");
            }
        }
    }
    for skipped in &study.skipped {
        text += &format!("\nleft out: {}: {}\n", skipped.what, skipped.reason);
    }
    for limit in &study.limits {
        text += &format!("\n{limit}\n");
    }
    text
}

fn figure_text(asked: &Figure) -> String {
    let mut head = vec![asked.x.label.clone()];
    let mut places: Vec<X> =
        asked.series.iter().flat_map(|s| &s.points).map(|point| point.x.clone()).collect();
    if asked.x.categories.is_empty() {
        places.sort_by(X::total_cmp);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for place in places {
        let row = vec![place.to_string()];
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    for (column, series) in asked.series.iter().enumerate() {
        let published = if series.published { " (published)" } else { "" };
        head.push(format!("{}{published}", series.name));
        for point in &series.points {
            let place = point.x.to_string();
            let Some(row) = rows.iter_mut().find(|row| row[0] == place) else { continue };
            row.resize(column + 1, "–".into());
            row.push(cell(asked, point));
        }
    }
    for row in &mut rows {
        row.resize(head.len(), "–".into());
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let unit = if asked.y.unit.is_empty() || asked.kind == FigureKind::Matrix {
        String::new()
    } else {
        format!(", {}", asked.y.unit)
    };
    format!("{} ({}{unit})\n{}", asked.title, asked.y.label, grid(&head, &rows))
}

fn cell(asked: &Figure, point: &Point) -> String {
    if asked.kind == FigureKind::Matrix {
        let published = point.published.as_ref().map(|label| format!(" (paper: {label})"));
        return format!("{}{}", point.label.as_deref().unwrap_or("–"), published.unwrap_or_default());
    }
    let Some(y) = point.y else { return "–".into() };
    let interval =
        point.low.zip(point.high).map(|(low, high)| format!(" [{}, {}]", figure(low), figure(high)));
    format!("{}{}{}", figure(y), interval.unwrap_or_default(), if point.valid { "" } else { " INVALID" })
}

fn table_text(table: &Table) -> String {
    let head: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    let entry = |entry: &Entry| match entry {
        Entry::Text(text) => text.clone(),
        Entry::Quantity { value, unit, .. } => format!("{} {unit}", figure(*value)).trim().to_owned(),
    };
    let rows = table.rows.iter().map(|row| {
        let mut cells: Vec<String> = row.cells.iter().map(entry).collect();
        if let (true, Some(first)) = (row.published, cells.first_mut()) {
            first.push_str(" (published)");
        }
        cells
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let source = if table.source.is_empty() { String::new() } else { format!(" ({})", table.source) };
    format!("{}{source}\n{}", table.title, grid(&head, &rows))
}

/// Three significant digits, or all before the point.
pub(crate) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}

/// Columns as wide as what stands in them.
pub(crate) fn grid(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("  {}\n", padded.join("  ").trim_end())
    };
    let mut text = line(&mut head.iter().copied());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::study::{Axis, ClaimResult, ClaimVerdict, Series};

    #[test]
    fn ours_stands_beside_the_published() {
        let point = |x: f64, y: f64| Point { x: x.into(), y: Some(y), ..Point::default() };
        let figure = Figure {
            title: "F".into(),
            x: Axis { label: "load".into(), ..Axis::default() },
            y: Axis { label: "p99".into(), unit: "µs".into(), ..Axis::default() },
            series: vec![
                Series {
                    name: "a".into(),
                    points: vec![point(10.0, 1.5), point(50.0, 20.0)],
                    ..Series::default()
                },
                Series {
                    name: "b".into(),
                    published: true,
                    points: vec![point(50.0, 1234.0)],
                    ..Series::default()
                },
            ],
            ..Figure::default()
        };
        let claim = ClaimResult {
            id: "c".into(),
            text: "It grows.".into(),
            source: "S".into(),
            verdict: ClaimVerdict::Differs,
            measured: "it shrinks".into(),
            reason: "p = 0.01".into(),
            p_value: Some(0.01),
        };
        let study = Study { figures: vec![figure], claims: vec![claim], complete: true, ..Study::default() };
        let text = table(&study);
        assert!(text.contains("load  a     b (published)\n  10    1.50  –\n  50    20.0  1234\n"), "{text}");
        assert!(text.contains("DIFFERS: It grows.\n    S\n    it shrinks\n    p = 0.01"), "{text}");
        assert!(!text.contains("PARTIAL"), "{text}");
    }
}
