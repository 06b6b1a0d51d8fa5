use results::study::{ClaimVerdict, Figure, FigureKind, Point, StudyComparison, Table, X};
use results::{Study, TextTable};

use super::grid::{Grid, Tone};
use super::ink::{Ink, harmless, wrapped};
use crate::figure::{matrix_key, nothing_at};
use crate::number;
use crate::quantity::{quantity, quantity_range};
use crate::study::{entry, tally_words};

/// The claims, figures and tables of `study` for a terminal of `width` columns.
///
/// A figure is a table with a row for each place and a column for each series, published ones in brackets.
pub fn study_table(study: &Study, width: usize, color: bool) -> String {
    let ink = Ink { color };
    let line = |text: &str, indent| wrapped(&harmless(text), width, indent);
    let mut parts = vec![
        ink.bold(&line(&format!("{} ({}), {} form", study.title, study.source, study.form.words()), 2)),
        line(&study.question, 2),
        ink.bold(&line(&tally_words(study), 2)),
    ];
    if !study.complete {
        let why = study.interrupted.as_deref().unwrap_or("it is not finished");
        let blocks = number::plural(study.blocks as usize, "whole block");
        parts.push(ink.bad(&line(&format!("Partial, {blocks}: {why}"), 2)));
    }
    if !study.claims.is_empty() {
        parts.push(String::new());
    }
    for claim in &study.claims {
        let verdict = claim.verdict.words();
        let source = bracketed(&claim.source);
        let measured = if claim.measured.is_empty() { "" } else { " – " };
        let text = line(&format!("{verdict}: {}{source}{measured}{}", claim.text, claim.measured), 4);
        parts.push(match claim.verdict {
            ClaimVerdict::Reproduced => text,
            ClaimVerdict::Differs => ink.bad(&text),
            ClaimVerdict::NotMeasurable => ink.warn(&text),
        });
        if !claim.reason.is_empty() {
            let reason = wrapped(&harmless(&claim.reason), width.saturating_sub(4), 4);
            parts.push(ink.dim(&format!("    {reason}")));
        }
    }
    for figure in &study.figures {
        parts.push(String::new());
        parts.push(ink.bold(&line(&format!("{}{}", figure.title, bracketed(&figure.y.label)), 2)));
        // With the intervals, where there is room for them.
        let with_intervals = grid_of_figure(figure, true);
        let grid = if with_intervals.fits(width) { with_intervals } else { grid_of_figure(figure, false) };
        parts.push(grid.render(width, ink));
        if figure.kind == FigureKind::Matrix {
            parts.push(ink.dim(&line(&matrix_key(figure), 2)));
        }
        if figure.series.iter().flat_map(|series| &series.points).any(|point| !point.valid) {
            parts.push(ink.dim("!: not all trials there were valid."));
        }
        parts.extend(figure.overloaded.as_ref().map(|words| ink.warn(&line(words, 2))));
    }
    for table in &study.tables {
        parts.push(String::new());
        parts.push(ink.bold(&line(&format!("{}{}", table.title, bracketed(&table.source)), 2)));
        parts.push(grid_of_table(table).render(width, ink));
        parts.extend(table.overloaded.as_ref().map(|words| ink.warn(&line(words, 2))));
    }
    if !study.skipped.is_empty() {
        parts.push(String::new());
    }
    let skipped = study.skipped.iter().map(|part| format!("not measured: {}: {}", part.what, part.reason));
    parts.extend(skipped.map(|text| ink.warn(&line(&text, 2))));
    let known = study.limits.iter().chain(&study.notes);
    parts.extend(known.map(|note| ink.dim(&line(&format!("· {note}"), 2))));
    parts.join("\n") + "\n"
}

/// ` (text)`, or nothing.
fn bracketed(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

/// A figure with its intervals, as words.
pub(crate) fn figure_as_text(figure: &Figure) -> TextTable {
    let title = format!("{}{}", figure.title, bracketed(&figure.y.label));
    TextTable { notes: notes_of_figure(figure), ..grid_of_figure(figure, true).into_text(&figure.id, &title) }
}

/// A table of a study as words.
pub(crate) fn table_as_text(table: &Table) -> TextTable {
    let title = format!("{}{}", table.title, bracketed(&table.source));
    let notes = table.overloaded.iter().cloned().collect();
    TextTable { notes, ..grid_of_table(table).into_text(&table.id, &title) }
}

/// What the reader must know of a figure.
fn notes_of_figure(figure: &Figure) -> Vec<String> {
    let mut notes = Vec::new();
    if figure.kind == FigureKind::Matrix {
        notes.push(matrix_key(figure));
    }
    if figure.series.iter().flat_map(|series| &series.points).any(|point| !point.valid) {
        notes.push("!: not all trials there were valid.".into());
    }
    notes.extend(figure.overloaded.clone());
    let mut sources: Vec<&str> = figure.series.iter().filter_map(|series| series.source.as_deref()).collect();
    sources.dedup();
    if !sources.is_empty() {
        notes.push(format!("[…]: published, {}.", sources.join(" and ")));
    }
    notes
}

/// Every point of `comparison` with its ratio, for a terminal of `width` columns.
pub fn study_comparison_table(comparison: &StudyComparison, width: usize, color: bool) -> String {
    let ink = Ink { color };
    let line = |text: &str| wrapped(&harmless(text), width, 2);
    let (a, b) = (&comparison.a, &comparison.b);
    let mut parts = vec![ink.bold(&line(&format!("{}: {} over {}", comparison.name, b.label, a.label)))];
    parts.extend([a, b].map(|side| ink.dim(&line(&format!("{}: {}", side.label, side.machine)))));
    parts.extend(
        comparison.differences.iter().map(|difference| ink.warn(&line(&format!("differs: {difference}")))),
    );
    for figure in &comparison.figures {
        let mut grid = Grid::default().words("series", 0).number(&figure.x.label, 0);
        grid = grid.number(&a.label, 0).number(&b.label, 0).number("ratio", 0).number("interval", 1);
        for series in &figure.series {
            for point in &series.points {
                let cell = |value: Option<f64>, label: &Option<String>| {
                    let shown = label.clone().or_else(|| value.map(|value| quantity(value, &figure.y.unit)));
                    shown.unwrap_or_else(|| nothing_at(figure.kind).into())
                };
                let place =
                    point.x.number().map_or_else(|| point.x.to_string(), |x| quantity(x, &figure.x.unit));
                let interval = point.low.zip(point.high).map(|(low, high)| number::ratio_range(low, high));
                let cells = vec![
                    series.name.clone(),
                    place,
                    cell(point.a, &point.label_a),
                    cell(point.b, &point.label_b),
                    point.ratio.map_or_else(|| number::NONE.into(), number::ratio),
                    interval.unwrap_or_else(|| number::NONE.into()),
                ];
                grid.row(if point.valid { Tone::Plain } else { Tone::Bad }, cells);
            }
        }
        parts.extend([String::new(), ink.bold(&line(&figure.title)), grid.render(width, ink)]);
        parts.extend(figure.left_out.iter().map(|left_out| ink.dim(&line(&format!("· {left_out}")))));
    }
    parts.join("\n") + "\n"
}

/// Of a distribution, the places that a table has room for. Units: percentiles.
const SHOWN: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

fn grid_of_figure(figure: &Figure, intervals: bool) -> Grid {
    let mut grid = Grid::default().words(&figure.x.label, 0);
    let spare = |published: bool, i: usize| if published { 1 + (i % 200) as u8 } else { 0 };
    for (i, series) in figure.series.iter().enumerate() {
        let name = if series.published { format!("[{}]", series.name) } else { series.name.clone() };
        grid = grid.number(&name, spare(series.published, i));
    }
    let mut places: Vec<_> = figure.series.iter().flat_map(|s| &s.points).map(|point| &point.x).collect();
    places.sort_by(|a, b| {
        let listed = |x: &X| figure.x.categories.iter().position(|name| *name == x.to_string());
        listed(a).cmp(&listed(b)).then_with(|| a.total_cmp(b))
    });
    places.dedup();
    let percentiles = figure.kind == FigureKind::Percentiles;
    places.retain(|x| !percentiles || x.number().is_some_and(|x| SHOWN.contains(&x)));
    for x in places {
        let found: Vec<Option<&Point>> =
            figure.series.iter().map(|series| series.points.iter().find(|point| point.x == *x)).collect();
        let name = match x.number() {
            Some(x) if percentiles => format!("p{x}"),
            Some(x) => quantity(x, &figure.x.unit),
            None => x.to_string(),
        };
        let invalid = found.iter().flatten().any(|point| !point.valid);
        let missing = nothing_at(figure.kind);
        let cells =
            found.iter().map(|point| point.map_or(missing.into(), |point| value(figure, point, intervals)));
        grid.row(if invalid { Tone::Bad } else { Tone::Plain }, [name].into_iter().chain(cells).collect());
    }
    grid
}

/// A point's label with the published one in brackets, or its value with its interval.
fn value(figure: &Figure, point: &Point, intervals: bool) -> String {
    let own = point.label.clone().or_else(|| point.y.map(|y| quantity(y, &figure.y.unit)));
    let own = own.unwrap_or_else(|| nothing_at(figure.kind).into());
    let published = point.published.as_ref().map_or_else(String::new, |said| format!(" [{said}]"));
    let interval =
        point.low.zip(point.high).filter(|(low, high)| intervals && point.y.is_some() && low < high);
    let interval = interval
        .map_or_else(String::new, |(low, high)| format!(" ({})", quantity_range(low, high, &figure.y.unit)));
    let mark = if point.valid { "" } else { "!" };
    format!("{own}{mark}{interval}{published}")
}

fn grid_of_table(table: &Table) -> Grid {
    let mut grid = Grid::default();
    for column in &table.columns {
        grid = grid.words(column, 0);
    }
    for row in &table.rows {
        let cell = |(i, cell)| match (i, row.published) {
            (0, true) => format!("[{}]", entry(cell)),
            _ => entry(cell),
        };
        grid.row(Tone::Plain, row.cells.iter().enumerate().map(cell).collect());
    }
    grid
}
