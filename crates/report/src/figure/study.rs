//! The figures of a study, in the publication's form: published values are overlaid on the measured ones, hollow
//! against solid.

mod bars;
mod ends;
mod legend;
mod lines;
mod looks;
mod matrix;

use maud::{Markup, PreEscaped, html};
use results::study::{Figure, FigureKind, Point, Series};

pub(crate) use matrix::key as matrix_key;

use super::{Canvas, Size};
use crate::number;
use crate::quantity::{self, quantity, quantity_range};
use crate::tips::Tips;

/// Draws `figure`; its `index` must be unique on its page. `closed` marks figures of a closed loop.
pub(crate) fn study_figure(figure: &Figure, index: usize, closed: bool, tips: &mut Tips) -> Markup {
    let caption = html! {
        @if !figure.caption.is_empty() { (figure.caption) " " }
        (keys(figure))
        @if let Some(words) = &figure.overloaded { (words) ". " }
    };
    captioned(figure, index, closed, caption, tips)
}

/// Draws a figure over a history, whose whiskers are bounds; its `index` must be unique on its page.
pub(crate) fn history_figure(figure: &Figure, index: usize, tips: &mut Tips) -> Markup {
    captioned(figure, index, false, html! { (figure.caption) }, tips)
}

fn captioned(figure: &Figure, index: usize, closed: bool, caption: Markup, tips: &mut Tips) -> Markup {
    for (i, series) in figure.series.iter().enumerate() {
        for (j, point) in series.points.iter().enumerate() {
            let title = format!("{} · {}", series.name, place(figure, point));
            tips.add(&key(index, i, j), title, rows(figure, series, point));
        }
    }
    super::wide(&figure.title, closed, caption, |size| draw(figure, index, size))
}

/// `figure` without text around it, as small as a stamp.
pub(crate) fn study_stamp(figure: &Figure) -> Markup {
    PreEscaped(draw(figure, 0, Size::Tile).still().svg("", &figure.title))
}

fn draw(figure: &Figure, index: usize, size: Size) -> Canvas {
    match figure.kind {
        FigureKind::Lines | FigureKind::Percentiles => lines::draw(figure, index, size),
        FigureKind::Bars => bars::draw(figure, index, size),
        FigureKind::Matrix => matrix::draw(figure, index, size),
    }
}

/// The key of a point's tooltip.
fn key(figure: usize, series: usize, point: usize) -> String {
    format!("f{figure}-{series}-{point}")
}

fn place(figure: &Figure, point: &Point) -> String {
    let at = quantity::place(figure.kind, &figure.x.unit, &point.x);
    if figure.x.label.is_empty() || figure.kind == FigureKind::Percentiles {
        at
    } else {
        format!("{} {at}", figure.x.label)
    }
}

fn rows(figure: &Figure, series: &Series, point: &Point) -> Vec<(String, String)> {
    let row = |name: &str, value: String| (name.to_owned(), value);
    let unit = &figure.y.unit;
    let mut rows = Vec::new();
    rows.extend(point.label.as_ref().map(|label| row("here", label.clone())));
    rows.extend(point.published.as_ref().map(|label| row("published", label.clone())));
    rows.extend(point.y.map(|y| row(&figure.y.label, quantity(y, unit))));
    if let (Some(low), Some(high)) = (point.low, point.high) {
        rows.push(row("interval", quantity_range(low, high, unit)));
    }
    if series.published {
        rows.push(row("source", series.source.clone().unwrap_or_else(|| number::NONE.into())));
    } else if point.n > 0 {
        rows.push(row("repeats", point.n.to_string()));
    }
    if !point.valid {
        rows.push(row("verdict", "invalid".into()));
    }
    rows.extend(point.note.as_ref().map(|note| row("note", note.clone())));
    rows
}

/// Placeholder for a missing point: in a matrix the usual dash has another meaning.
pub(crate) fn nothing_at(kind: FigureKind) -> &'static str {
    if kind == FigureKind::Matrix { Point::UNKNOWN } else { number::NONE }
}

/// The meanings of the marks that the figure uses.
fn keys(figure: &Figure) -> Markup {
    let own = figure.series.iter().filter(|series| !series.published);
    let points = || own.clone().flat_map(|series| &series.points);
    let whiskers = points().any(|point| point.low.zip(point.high).is_some_and(|(low, high)| low < high));
    let mut sources: Vec<&str> =
        figure.series.iter().filter(|s| s.published).filter_map(|s| s.source.as_deref()).collect();
    sources.dedup();
    let published = figure.series.iter().any(|series| series.published);
    html! {
        @if published {
            "Hollow: published"
            @if !sources.is_empty() { " (" (sources.join("; ")) ")" }
            ". "
        }
        @if whiskers { "Whiskers: the 95 % interval of the median, or dotted the range, where there were too few repeats for one. " }
        @if points().any(|point| !point.valid) { "Hatched: invalid, the note says why. " }
        @if figure.kind == FigureKind::Matrix { (matrix_key(figure)) " " }
        @if figure.kind == FigureKind::Matrix && points().any(|point| point.published.is_some()) {
            "Small, below: what the publication has there; framed where the two differ. "
        }
    }
}
