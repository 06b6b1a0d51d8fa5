//! The response-time distribution at one point, over its repeats.

use results::study::{Point, X};

use super::summary::Cells;

/// The percentiles that are drawn. Stored curves have their first point after the least at 10.9 %
/// (`hist::Latency::curve`), so percentiles below 10 % are unknown.
const PERCENTILES: [f64; 12] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.9];

/// The median over the repeats at each percentile; `factor` leads from µs to the unit of the axis.
pub(super) fn points(cells: Cells<'_>, series: &str, x: &X, factor: f64) -> Vec<Point> {
    let at = |percentile: f64| {
        let summary = cells.summary(series, x, |cell| Some(factor * value(&cell.curve, percentile)?))?;
        Some(summary.point(percentile.into()))
    };
    PERCENTILES.into_iter().filter_map(at).collect()
}

/// The time at a percentile of a curve, on the line between its neighbouring points.
fn value(curve: &[(f64, f64)], percentile: f64) -> Option<f64> {
    let after = curve.iter().position(|(p, _)| *p >= percentile)?;
    let (p, us) = curve[after];
    let Some((before, from)) = after.checked_sub(1).map(|at| curve[at]) else { return Some(us) };
    Some(from + (us - from) * (percentile - before) / (p - before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::Verdict;
    use results::study::Cell;

    #[test]
    fn a_curve_is_the_median_of_curves() {
        let cell = |block: u32, scale: f64| Cell {
            series: "a".into(),
            x: 288.0.into(),
            block,
            curve: vec![(0.0, 10.0 * scale), (50.0, 20.0 * scale), (99.0, 40.0 * scale)],
            verdict: Verdict::Valid,
            ..Cell::default()
        };
        let cells = [cell(0, 1.0), cell(1, 9.0), cell(2, 2.0)];
        let points = points(Cells(&cells), "a", &288.0.into(), 1e-3);
        let at = |p: f64| points.iter().find(|point| point.x == p.into()).and_then(|point| point.y);
        assert_eq!((at(50.0), at(99.0)), (Some(0.04), Some(0.08)));
        // A fifth and two fifths of the way from 20 µs to 40.
        assert_eq!((at(10.0), at(20.0)), (Some(0.024), Some(0.028)));
        // The curves end at p99; p99.9 is unknown.
        assert_eq!(at(99.9), None);
    }
}
