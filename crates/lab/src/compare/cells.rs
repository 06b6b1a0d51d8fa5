//! Whether a second run of a study confirms the first, judged by the cells of both.

use results::study::{Axis, Cell, Figure, FigureKind, Point};
use results::{ComparedFigure, ComparedSeries, Comparison, Study};

use super::{figures, ratio};
use crate::study::Cells;

/// Compares the rerun `b` of a study with `a`, which lie in `folders`, by `metrics`: each over the same at the reference
/// point of its block, where b should lie in the interval of a, and plain, which the drift of the machine is part of.
///
/// At all places below `limit` on the axis; at all, where the axis has names or there is no limit.
pub fn rerun(a: &Study, b: &Study, folders: [&str; 2], metrics: &[String], limit: Option<f64>) -> Comparison {
    let figures = metrics.iter().flat_map(|metric| {
        let axis = |unit: &str| Axis { label: metric.clone(), unit: unit.into(), ..Axis::default() };
        let over = ComparedFigure {
            id: format!("{metric}-over-reference"),
            title: format!("{metric} over the same at the reference point"),
            y: axis("x"),
            ..figure([a, b], limit, true, |cell| cell.ratio(metric))
        };
        let plain = ComparedFigure {
            id: metric.clone(),
            title: metric.clone(),
            y: axis(""),
            ..figure([a, b], limit, false, |cell| cell.metrics.get(metric).copied())
        };
        [over, plain]
    });
    Comparison { figures: figures.collect(), ..figures::sides([a, b], folders) }
}

/// `value` of both at all places below `limit`, with its intervals where `bounded`; it has no name yet.
fn figure(
    studies: [&Study; 2],
    limit: Option<f64>,
    bounded: bool,
    value: impl Fn(&Cell) -> Option<f64>,
) -> ComparedFigure {
    let [a, b] = studies;
    let is_line = |figure: &&Figure| matches!(figure.kind, FigureKind::Lines | FigureKind::Bars);
    let x = a.figures.iter().find(is_line).map(|figure| figure.x.clone()).unwrap_or_default();
    let mut series: Vec<ComparedSeries> = Vec::new();
    for Cell { series: name, .. } in &a.cells {
        if series.iter().any(|known| known.name == *name) {
            continue;
        }
        let mut places = Cells(&a.cells).places(name);
        places.retain(|x| limit.zip(x.number()).is_none_or(|(limit, x)| x < limit));
        let points = places.into_iter().filter_map(|x| {
            let of = |study: &Study| {
                let point = Cells(&study.cells).summary(name, &x, &value)?.point(x.clone());
                Some(if bounded { point } else { Point { low: None, high: None, ..point } })
            };
            Some(figures::of_cells(ratio::compared(of(a)?, of(b)?, None), studies, name, &x))
        });
        series.push(ComparedSeries { name: name.clone(), points: points.collect() });
    }
    ComparedFigure { x, series, ..ComparedFigure::default() }
}

#[cfg(test)]
mod tests {
    use results::Agreement;

    use super::*;
    use crate::study::tests::cells;

    fn study(points: &[(f64, &[f64])], reference: f64) -> Study {
        let mut cells = cells("a", points);
        for cell in &mut cells {
            cell.reference = [("m".to_owned(), reference)].into();
        }
        Study { cells, ..Study::default() }
    }

    #[test]
    fn a_second_run_agrees_where_its_ratio_lies_in_the_interval_of_the_first() {
        let first = study(&[(10.0, &[1.0, 1.1, 1.2]), (50.0, &[2.0, 2.1, 2.2]), (90.0, &[9.0, 8.0])], 2.0);
        // Twice as slow throughout, and so is its reference; at 50 the ratio itself has changed.
        let second = study(&[(10.0, &[2.2, 2.2, 2.3]), (50.0, &[9.0, 9.0, 9.0]), (90.0, &[1.0, 1.0])], 4.0);
        let compare = |metric: &str, limit| rerun(&first, &second, ["", ""], &[metric.to_owned()], limit);
        let found = compare("m", Some(70.0));
        let Agreement { agreeing, all, widest } = found.agreement().unwrap();
        assert!((agreeing, all) == (1, 2) && widest < 0.1, "{widest}");
        let at_ten = |figure: usize| &found.figures[figure].series[0].points[0];
        let (over, plain) = (at_ten(0), at_ten(1));
        assert!(
            (over.a.y.unwrap() - 0.55).abs() < 1e-9 && (over.b.y.unwrap() - 0.55).abs() < 1e-9,
            "{over:?}"
        );
        assert!((over.half_width().unwrap() - 0.05 / 0.55).abs() < 1e-9, "{over:?}");
        assert!((plain.ratio.unwrap().value - 2.0).abs() < 1e-9, "{plain:?}");
        assert_eq!((plain.agrees(), plain.ratio.unwrap().low), (None, None));
        assert_eq!(compare("other", None).agreement(), None);
        assert_eq!(compare("m", None).agreement().unwrap().all, 3);
    }
}
