use results::study::{ClaimVerdict, Figure, FigureKind, Point, Table};
use results::{Study, TextTable};

use super::grid::{Grid, Tone};
use super::ink::{Ink, harmless, wrapped};
use crate::figure::{matrix_key, nothing_at};
use crate::number;
use crate::quantity::{self, quantity, quantity_range};
use crate::study::{NOTHING, claim_words, entry, filled, tally_words};

/// The claims, figures and tables of `study` for a terminal of `width` columns.
///
/// A figure is a table with a row for each place and a column for each series, published ones in brackets.
pub fn study_table(study: &Study, width: usize, color: bool) -> String {
    let ink = Ink { color };
    let line = |text: &str, indent| wrapped(&harmless(text), width, indent);
    let mut parts = vec![
        ink.bold(&line(&format!("{} ({}), {} run", study.title, study.source, study.effort.words()), 2)),
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
        let verdict = claim_words(claim);
        let source = bracketed(&claim.source);
        let measured = if claim.measured.is_empty() { "" } else { " – " };
        let text = line(&format!("{verdict}: {}{source}{measured}{}", claim.text, claim.measured), 4);
        parts.push(match claim.verdict {
            ClaimVerdict::Reproduced => text,
            ClaimVerdict::Differs => ink.bad(&text),
            ClaimVerdict::Open | ClaimVerdict::NotMeasurable => ink.warn(&text),
        });
        if !claim.reason.is_empty() {
            let reason = wrapped(&harmless(&claim.reason), width.saturating_sub(4), 4);
            parts.push(ink.dim(&format!("    {reason}")));
        }
    }
    for figure in &study.figures {
        parts.push(String::new());
        parts.push(ink.bold(&line(&format!("{}{}", figure.title, bracketed(&figure.y.label)), 2)));
        // With the intervals, if they fit.
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
        parts.push(match filled(table) {
            Some(table) => grid_of_table(&table).render(width, ink),
            None => ink.dim(NOTHING),
        });
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
    let filled = filled(table);
    let grid = grid_of_table(filled.as_ref().unwrap_or(table));
    TextTable { notes, ..grid.into_text(&table.id, &title) }
}

/// Caveats of a figure.
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

/// The places of a distribution that fit in a table. Units: percentiles.
const SHOWN: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

fn grid_of_figure(figure: &Figure, intervals: bool) -> Grid {
    let mut grid = Grid::default().words(&figure.x.label, 0);
    let spare = |published: bool, i: usize| if published { 1 + (i % 200) as u8 } else { 0 };
    for (i, series) in figure.series.iter().enumerate() {
        let name = if series.published { format!("[{}]", series.name) } else { series.name.clone() };
        grid = grid.number(&name, spare(series.published, i));
    }
    let points = figure.series.iter().flat_map(|series| &series.points);
    let mut places = quantity::places(&figure.x, points.map(|point| &point.x));
    let percentiles = figure.kind == FigureKind::Percentiles;
    places.retain(|x| !percentiles || x.number().is_some_and(|x| SHOWN.contains(&x)));
    for x in places {
        let found: Vec<Option<&Point>> =
            figure.series.iter().map(|series| series.points.iter().find(|point| point.x == *x)).collect();
        let name = quantity::place(figure.kind, &figure.x.unit, x);
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
