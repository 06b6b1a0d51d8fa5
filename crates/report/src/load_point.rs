//! The figures of a load in words, and which loads of a sweep are shown one by one.

use results::{LoadPoint, Metric, Trial};

use crate::measure::Target;
use crate::number;

/// The median of `figure` in words, `≤ 780 µs` if only its upper bound is known. Units of `figure`: µs.
pub(crate) fn micros(point: &LoadPoint, figure: impl Fn(&Trial) -> Option<f64>) -> String {
    match (point.median(&figure), point.at_most(&figure)) {
        (None, Some(us)) => format!("≤ {}", number::micros(Some(us))),
        (median, _) => number::micros(median),
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

/// Whether a load met `target` by the medians of both bounds over its usable trials, as [`response_time`] shows them;
/// `None` if the bounds lie on both sides of the limit.
///
/// An overload's response times grow for as long as it lasts, so that a short window proves nothing. A target met in
/// trials that generator or host slowed would be met without them, too; a target missed in such trials proves nothing.
pub(crate) fn met(point: &LoadPoint, target: &Target) -> Option<bool> {
    match point.median(|trial| target.used_bounds(trial).map(|(least, _)| least)) {
        Some(_) if point.overloaded() => Some(false),
        Some(_) if target.is_met(point) => Some(true),
        Some(least) => (least > 1.0).then_some(false),
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
    use results::{Arrivals, Bounds, Invalid, PercentileBounds, Reason, TimeBounds, Verdict};
    use units::QosBasis;

    use super::*;

    #[test]
    fn a_load_is_met_or_missed_by_the_medians_of_its_bounds() {
        let target = Target::new(&"p99<1ms".parse().unwrap(), QosBasis::Raw);
        let check = |bounds: &[(f64, f64)], expect: Option<bool>| {
            let trials: Vec<Trial> = bounds.iter().map(|&(low_us, high_us)| trial(low_us, high_us)).collect();
            let point = LoadPoint { share: None, offered_rps: 1.0, trials: trials.iter().collect() };
            assert_eq!(met(&point, &target), expect, "{bounds:?}");
        };
        check(&[(200.0, 200.0); 3], Some(true));
        check(&[(200.0, 200.0), (100.0, 900.0), (200.0, 9_000.0)], Some(true));
        // Two of three say nothing, and one that met it does not speak for them.
        check(&[(200.0, 200.0), (100.0, 8_000.0), (200.0, 9_000.0)], None);
        check(&[(2_000.0, 2_000.0), (1_500.0, 8_000.0), (200.0, 9_000.0)], Some(false));
        check(&[], None);
    }

    /// A trial whose p99 has these bounds; it was slowed if they differ.
    fn trial(low_us: f64, high_us: f64) -> Trial {
        let p99 = PercentileBounds { percentile: 99.0, bounds: Bounds { low_us, high_us } };
        let slowed = (low_us < high_us)
            .then(|| Invalid { reason: Reason::HostDisturbed, detail: "the host stalled".into() });
        let mut trial = Trial {
            bounds: Some(TimeBounds { percentiles: vec![p99], slowed, ..TimeBounds::default() }),
            verdict: Verdict::Valid,
            ..Trial::default()
        };
        trial.arrivals = Arrivals { intended: 10_000, completed: 10_000, ..Arrivals::default() };
        (trial.all.response_time.count, trial.all.response_time.p99_us) = (10_000, Some(high_us));
        trial
    }

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
