//! The figures of a load in words, and which loads of a sweep are shown one by one.

use results::{LoadPoint, Metric, Trial};

use crate::measure::Target;
use crate::number;

/// The median of `figure` in words, `≤ 780 µs` if only its upper bound is known. Units of `figure`: µs.
pub(crate) fn micros(point: &LoadPoint, figure: impl Fn(&Trial) -> Option<f64>) -> String {
    match (point.spread(&figure), point.at_most(&figure)) {
        (None, Some(us)) => format!("≤ {}", number::micros(Some(us))),
        (spread, _) => number::micros(spread.map(|spread| spread.median)),
    }
}

/// A response time in words: one figure if its bounds are close, else both, `1.9–2.7 ms`.
pub(crate) fn response_time(point: &LoadPoint, metric: Metric) -> String {
    // An overload's bounds grow with the window, so they are not shown.
    match point.bounds(metric).filter(|bounds| !bounds.is_usable() && !point.overloaded()) {
        Some(bounds) => number::micros_range(bounds.low_us, bounds.high_us),
        None => micros(point, |trial| metric.of(trial)),
    }
}

/// Whether a load met `target`; `None` if its trials cannot decide.
///
/// An overload's response times grow for as long as it lasts, so that a short window proves nothing. A target met in
/// trials that generator or host slowed would be met without them, too; a target missed in such trials proves nothing.
pub(crate) fn met(point: &LoadPoint, target: &Target) -> Option<bool> {
    match point.spread(|trial| target.used(trial)) {
        Some(used) => Some(used.median <= 1.0 && !point.overloaded()),
        None => point.at_most(|trial| target.used(trial)).filter(|used| *used <= 1.0).map(|_| true),
    }
}

/// The places of at most `count` of `points`: both ends, the highest load that `meets` the target, the rest
/// spread evenly.
pub(crate) fn choose<'p, 'a>(
    points: &'p [LoadPoint<'a>],
    count: usize,
    meets: impl Fn(&LoadPoint<'a>) -> bool,
) -> Vec<&'p LoadPoint<'a>> {
    if points.len() <= count || count < 2 {
        return points.iter().take(count).collect();
    }
    let last = points.len() - 1;
    let mut chosen: Vec<usize> = (0..count).map(|i| (i * last + (count - 1) / 2) / (count - 1)).collect();
    if let Some(edge) = points.iter().rposition(meets)
        && !chosen.contains(&edge)
        && let Some(nearest) = (1..count - 1).min_by_key(|&i| chosen[i].abs_diff(edge))
    {
        chosen[nearest] = edge;
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen.iter().map(|&i| &points[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_loads_hold_both_ends_and_the_edge() {
        let points: Vec<LoadPoint> = (0..11)
            .map(|i| LoadPoint { share: None, offered_rps: f64::from(i), trials: Vec::new() })
            .collect();
        let check = |count: usize, edge: f64, expect: &[f64]| {
            let got: Vec<f64> =
                choose(&points, count, |p| p.offered_rps <= edge).iter().map(|p| p.offered_rps).collect();
            assert_eq!(got, expect, "{count} {edge}");
        };
        check(3, 5.0, &[0.0, 5.0, 10.0]);
        check(3, 7.0, &[0.0, 7.0, 10.0]);
        check(5, 10.0, &[0.0, 3.0, 5.0, 8.0, 10.0]);
        check(20, 3.0, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
    }
}
