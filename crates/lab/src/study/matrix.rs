//! The matrix of two services side by side: which of them meets its target at each pair of loads.

use results::Verdict;
use results::study::{Axis, Cell, Point, Series, X};
use stats::median;

use super::picture::FigureDef;
use super::summary::Cells;

/// The shares that a place is called by.
fn shares(x: &X) -> Option<(String, String)> {
    let X::Category(name) = x else { return None };
    let (first, second) = name.split_once(" beside ")?;
    Some((first.to_owned(), second.to_owned()))
}

/// The loads of a place, in per cent.
pub(super) fn loads(x: &X) -> Option<(X, X)> {
    let load = |text: &str| text.trim_end_matches('%').trim().parse().ok().map(X::Number);
    let (first, second) = shares(x)?;
    Some((load(&first)?, load(&second)?))
}

/// A row for each load of the first service, in each a cell for each load of the second.
///
/// A service meets its target if it does so in more than half of the conclusive blocks; if one of the two has none, the
/// pair is unknown. M and N are the paper's letters for the first and the second.
pub(super) fn rows(asked: &FigureDef, cells: Cells<'_>) -> Vec<Series> {
    let Some(name) = asked.series.first() else { return Vec::new() };
    let mut rows: Vec<Series> = Vec::new();
    let mut places = cells.places(name);
    places.retain(|x| shares(x).is_some());
    places.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
    for x in places {
        let Some((first, second)) = shares(&x) else { continue };
        let of = |metric: &str| -> Vec<f64> {
            cells.at(name, &x).filter_map(|cell: &Cell| cell.metrics.get(metric).copied()).collect()
        };
        let (met_first, met_second) = (of("first_met"), of("second_met"));
        let held = |met: &[f64]| median(met).map(|share| share > 0.5);
        let label = match held(&met_first).zip(held(&met_second)) {
            Some((true, true)) => "MN",
            Some((true, false)) => "M",
            Some((false, true)) => "N",
            Some((false, false)) => Point::NEITHER,
            None => Point::UNKNOWN,
        };
        let valid = cells.at(name, &x).all(|cell| !matches!(cell.verdict, Verdict::Invalid { .. }));
        let published = asked.published.first().and_then(|published| {
            published.cells().find(|(row, column, _)| *row == first && *column == second).map(|cell| cell.2)
        });
        let n = met_first.len().min(met_second.len()) as u32;
        let point = Point {
            x: X::Category(second),
            n,
            valid,
            label: Some(label.into()),
            published,
            ..Point::default()
        };
        match rows.iter_mut().find(|row| row.name == first) {
            Some(row) => row.points.push(point),
            None => rows.push(Series { name: first, published: false, source: None, points: vec![point] }),
        }
    }
    rows
}

fn number(x: &X) -> Option<(f64, f64)> {
    let (first, second) = loads(x)?;
    Some((first.number()?, second.number()?))
}

/// The axes: the second service's loads, and the first's.
pub(super) fn axes(asked: &FigureDef, rows: &[Series]) -> (Axis, Axis) {
    let mut columns: Vec<X> = Vec::new();
    for point in rows.iter().flat_map(|row| &row.points) {
        if !columns.contains(&point.x) {
            columns.push(point.x.clone());
        }
    }
    let axis =
        |label: &str, categories: Vec<String>| Axis { label: label.into(), categories, ..Axis::default() };
    let columns = axis(&asked.y.unit, columns.iter().map(ToString::to_string).collect());
    (columns, axis(&asked.y.label, rows.iter().map(|row| row.name.clone()).collect()))
}

#[cfg(test)]
mod tests {
    use results::study::FigureKind;

    use super::super::section::Section;
    use super::*;
    use crate::run::place;

    fn cell(first: f64, second: f64, block: u32, met: (f64, f64)) -> Cell {
        Cell {
            series: "same".into(),
            x: place(first, second),
            block,
            metrics: [("first_met".to_owned(), met.0), ("second_met".to_owned(), met.1)].into(),
            verdict: Verdict::Valid,
            ..Cell::default()
        }
    }

    #[test]
    fn a_matrix_says_who_meets_the_target_in_most_blocks() {
        let text = "id = 'm'\ntitle = 'M'\nkind = 'matrix'\nseries = ['same']\n\
                    [[published]]\nname = 'Xeon'\nsource = 'S'\npoints = [['10 %', '50 %', 'MN']]";
        let asked = FigureDef::read(Section::new("", text.parse().unwrap())).unwrap();
        assert_eq!(asked.kind, FigureKind::Matrix);
        let cells = [
            cell(0.5, 0.5, 0, (0.0, 0.0)),
            cell(0.1, 0.5, 0, (1.0, 0.0)),
            cell(0.1, 0.5, 1, (1.0, 1.0)),
            cell(0.1, 0.5, 2, (0.0, 0.0)),
            cell(0.1, 0.1, 0, (1.0, 1.0)),
            // A cell without a result for the second service, and a cell without any result.
            Cell { metrics: [("first_met".to_owned(), 0.0)].into(), ..cell(0.5, 0.9, 0, (0.0, 0.0)) },
            Cell { metrics: [].into(), ..cell(0.9, 0.9, 0, (0.0, 0.0)) },
        ];
        let rows = rows(&asked, Cells(&cells));
        let shown: Vec<String> = rows
            .iter()
            .flat_map(|row| row.points.iter().map(move |p| (row, p)))
            .map(|(row, p)| format!("{} {} {} {:?}", row.name, p.x, p.label.as_deref().unwrap(), p.published))
            .collect();
        let expect = [
            "10 % 10 % MN None",
            "10 % 50 % M Some(\"MN\")",
            "50 % 50 % – None",
            "50 % 90 % ? None",
            "90 % 90 % ? None",
        ];
        assert_eq!(shown, expect);
        let (columns, lines) = axes(&asked, &rows);
        assert_eq!(
            (columns.categories, lines.categories),
            (
                ["10 %", "50 %", "90 %"].map(str::to_owned).into(),
                ["10 %", "50 %", "90 %"].map(str::to_owned).into()
            )
        );
        assert_eq!(loads(&place(0.1, 0.125)), Some((10.0.into(), 12.5.into())));
        assert_eq!(loads(&"x".into()), None);
    }
}
