use std::borrow::Cow;

use results::study::{Point, X};
use results::{ComparedFigure, ComparedPoint, Comparison};

use super::answer::judgement;
use crate::figure::nothing_at;
use crate::number;
use crate::quantity::{self, quantity, quantity_range};

/// A column of the table of a figure's ratios.
pub(crate) struct Column {
    pub head: String,
    /// Whether it holds words rather than numbers.
    pub words: bool,
    /// The order in which columns are dropped on a narrow terminal, the highest first; 0 is never dropped.
    pub spare: u8,
}

/// The rows of one place.
pub(crate) struct PlaceRows<'a> {
    /// Side a's, after the share of the maximum.
    pub name: String,
    /// Side b's, if different.
    pub of_b: Option<String>,
    /// The series measured there, each followed by its ratio without disturbed trials; empty without valid trials of both
    /// sides.
    pub points: Vec<(String, Cow<'a, ComparedPoint>)>,
    /// Points left out at this place, in words.
    pub left_out: Option<String>,
}

/// The index of the ratio's column.
pub(crate) const RATIO: usize = 4;

/// The columns of the table of `figure`, the place first.
pub(crate) fn columns(comparison: &Comparison, figure: &ComparedFigure) -> Vec<Column> {
    let column = |head: &str, words, spare| Column { head: head.into(), words, spare };
    let mut columns = vec![
        column(&figure.x.label, true, 0),
        column("series", true, 0),
        column(&comparison.a.label, false, 2),
        column(&comparison.b.label, false, 2),
        column("ratio", false, 0),
        column("interval or range", false, 1),
        column("n", false, 3),
    ];
    if has_intervals(comparison, figure) {
        columns.push(column(&format!("interval of {}", comparison.a.label), false, 4));
        columns.push(column("agrees", true, 0));
    }
    columns.push(column("what it says", true, 0));
    columns
}

/// Whether to show if side b lies in the intervals of side a: only for two results of one study.
fn has_intervals(comparison: &Comparison, figure: &ComparedFigure) -> bool {
    let is_rerun = comparison.study.is_some();
    is_rerun && figure.series.iter().flat_map(|series| &series.points).any(|point| point.agrees().is_some())
}

/// The cells after the place.
pub(crate) fn cells(
    comparison: &Comparison,
    figure: &ComparedFigure,
    series: &str,
    point: &ComparedPoint,
) -> Vec<String> {
    let none = || number::NONE.to_owned();
    let ratio = point.ratio;
    let mut cells = vec![
        series.to_owned(),
        value(figure, &point.a),
        value(figure, &point.b),
        ratio.map_or_else(none, |ratio| number::ratio(ratio.value)),
        ratio.and_then(|ratio| bounds(ratio.low, ratio.high)).unwrap_or_else(none),
        ratio.map_or_else(none, |ratio| ratio.n.to_string()),
    ];
    if has_intervals(comparison, figure) {
        let interval = point.a.low.zip(point.a.high).zip(point.half_width()).map(|((low, high), half)| {
            format!("{} (± {})", quantity_range(low, high, &figure.y.unit), number::percent(half))
        });
        cells.push(interval.unwrap_or_else(none));
        cells.push(point.agrees().map_or_else(none, |agrees| if agrees { "yes" } else { "NO" }.into()));
    }
    cells.push(judgement(comparison, figure, point));
    cells
}

/// A ratio's interval, which may be open at one end.
pub(super) fn bounds(low: Option<f64>, high: Option<f64>) -> Option<String> {
    match (low, high) {
        (Some(low), Some(high)) => Some(number::ratio_range(low, high)),
        (Some(low), None) => Some(format!("at least {}", number::ratio(low))),
        (None, Some(high)) => Some(format!("at most {}", number::ratio(high))),
        (None, None) => None,
    }
}

/// The places of `figure` in the order of its axis.
pub(crate) fn places(figure: &ComparedFigure) -> Vec<PlaceRows<'_>> {
    let points =
        || figure.series.iter().flat_map(|s| s.points.iter().map(move |point| (s.name.as_str(), point)));
    let is_there = |point: &Point| point.y.is_some() || point.label.is_some();
    let at = |x: &X| {
        let here = || points().filter(|(_, point)| point.a.x == *x);
        let there = here().filter(|(_, point)| is_there(&point.a) || is_there(&point.b));
        let shown: Vec<_> = there.flat_map(|(name, point)| with_check(name, point)).collect();
        let nothing = (shown.is_empty()).then(|| "no valid trials on both sides".to_owned());
        let most = here().max_by_key(|(_, point)| point.invalid)?.1;
        let said: Vec<String> = nothing.into_iter().chain(left_out(most)).collect();
        let left_out = (!said.is_empty()).then(|| said.join(", "));
        let of_b = (most.b.x != most.a.x).then(|| quantity::place(figure.kind, &figure.x.unit, &most.b.x));
        Some(PlaceRows { name: place(figure, most), of_b, points: shown, left_out })
    };
    let places = quantity::places(&figure.x, points().map(|(_, point)| &point.a.x));
    places.into_iter().filter_map(at).collect()
}

/// A point, and below it its ratio without the disturbed trials.
fn with_check<'a>(name: &str, point: &'a ComparedPoint) -> Vec<(String, Cow<'a, ComparedPoint>)> {
    let bare = |point: &Point| Point { x: point.x.clone(), ..Point::default() };
    let check = point.undisturbed.map(|ratio| {
        let (a, b) = (bare(&point.a), bare(&point.b));
        (
            format!("without {} disturbed", point.disturbed),
            Cow::Owned(ComparedPoint { a, b, ratio: Some(ratio), ..ComparedPoint::default() }),
        )
    });
    [(name.to_owned(), Cow::Borrowed(point))].into_iter().chain(check).collect()
}

/// `without 2 disturbed trials`.
pub(super) fn without(point: &ComparedPoint) -> String {
    format!("without {}", number::plural(point.disturbed as usize, "disturbed trial"))
}

/// The name of `point`'s place: side a's, after the share of the maximum.
pub(super) fn place(figure: &ComparedFigure, point: &ComparedPoint) -> String {
    let share = point.share.map_or(String::new(), |share| format!("{} ", number::percent(share)));
    format!("{share}{}", quantity::place(figure.kind, &figure.x.unit, &point.a.x))
}

/// `1 invalid trial left out`.
pub(super) fn left_out(point: &ComparedPoint) -> Option<String> {
    (point.invalid > 0)
        .then(|| format!("{} left out", number::plural(point.invalid as usize, "invalid trial")))
}

/// The figure of one side.
pub(super) fn value(figure: &ComparedFigure, point: &Point) -> String {
    let shown = point.label.clone().or_else(|| point.y.map(|y| quantity(y, &figure.y.unit)));
    shown.unwrap_or_else(|| nothing_at(figure.kind).into())
}
