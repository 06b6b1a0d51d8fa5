//! Estimate of the requests that a closed loop did not send.

use crate::Percentile;

/// The requests that a closed loop left out while it waited, and the percentile with them.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Hidden {
    /// Requests that were due while connections waited for longer than their mean interval, over the measured ones:
    /// least and most.
    pub share: (f64, f64),
    /// The estimated percentile.
    pub percentile: f64,
    /// Its bounds with these requests. Units: µs. The upper one is infinite if the longest time is not known.
    pub us: (f64, f64),
}

/// Steps of one waiting time at most; longer waits are summed in steps of several intervals.
const STEPS: f64 = 2_000.0;

/// Estimates a percentile with the requests that a closed loop left out.
///
/// On each connection a request is due every `interval_us`, the mean interval between two. A response that takes
/// longer hides those that were due in the meantime; they would have waited for the rest of it. This is HdrHistogram's
/// correction, applied to the printed percentiles. Between two of them the times are unknown, so that there are a least
/// and a greatest answer. `points` are rising; `max_us` is the longest time.
pub fn hidden(
    points: &[Percentile],
    max_us: Option<f64>,
    interval_us: f64,
    percentile: f64,
) -> Option<Hidden> {
    if points.is_empty() || !(interval_us > 0.0 && interval_us.is_finite()) {
        return None;
    }
    // Beyond the last printed percentile are times up to the longest, of which there is at least one.
    let last = points.iter().rfind(|point| point.percentile < 100.0)?.us;
    let end = max_us.or_else(|| points.last().filter(|p| p.percentile >= 100.0).map(|p| p.us));
    let mut segments = Vec::new();
    let (mut from, mut least) = (0.0, 0.0);
    for point in points.iter().filter(|point| point.percentile < 100.0) {
        if point.percentile > from {
            segments.push(((point.percentile - from) / 100.0, least, point.us.max(least)));
            (from, least) = (point.percentile, point.us.max(least));
        }
    }
    segments.push(((100.0 - from) / 100.0, least, end.unwrap_or(last).max(least)));
    let (low_share, low) =
        corrected(segments.iter().map(|&(mass, low, _)| (mass, low)), interval_us, percentile);
    let (high_share, high) =
        corrected(segments.iter().map(|&(mass, _, high)| (mass, high)), interval_us, percentile);
    let high = if end.is_some() { high } else { f64::INFINITY };
    Some(Hidden { share: (low_share, high_share), percentile, us: (low, high) })
}

/// The added share and the percentile, of times with their shares.
fn corrected(times: impl Iterator<Item = (f64, f64)>, interval: f64, percentile: f64) -> (f64, f64) {
    let mut all = Vec::new();
    let mut added = 0.0;
    for (mass, us) in times {
        all.push((us, mass));
        let missing = (us / interval - 1.0).floor().max(0.0);
        let stride = (missing / STEPS).ceil().max(1.0);
        let mut step = 1.0;
        while step <= missing {
            let weight = mass * stride.min(missing - step + 1.0);
            all.push((us - step * interval, weight));
            added += weight;
            step += stride;
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted = percentile / 100.0 * (1.0 + added) - 1e-12;
    let mut sum = 0.0;
    let found = all.iter().find(|(_, mass)| {
        sum += mass;
        sum >= wanted
    });
    (added, found.or(all.last()).map_or(0.0, |(us, _)| *us))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[(f64, f64)]) -> Vec<Percentile> {
        of.iter().map(|&(percentile, us)| Percentile { percentile, us, step_us: 0.0 }).collect()
    }

    #[test]
    fn a_stall_hides_what_was_due_in_it() {
        // One connection, 1 ms for each request, one stall of 1 s among 9 000: 999 requests were due in it, and waited for 1
        // to 999 ms. Of 9 999, the slowest hundredth began when 100 ms were left of... 900 ms: all but 100 of the stall's.
        let of = points(&[(50.0, 1e3), (99.0, 1e3), (99.98, 1e3)]);
        let found = hidden(&of, Some(1e6), 1e3, 99.0).unwrap();
        assert!((found.share.1 - 2e-4 * 999.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.share.0, 0.0, "the stall may have been the last request alone");
        assert_eq!(found.us.0, 1e3);
        assert!((0.93e6..0.95e6).contains(&found.us.1), "{found:?}");
    }

    #[test]
    fn even_times_hide_nothing() {
        let of = points(&[(50.0, 900.0), (99.0, 1_500.0)]);
        let found = hidden(&of, Some(1_900.0), 1_000.0, 99.0).unwrap();
        assert_eq!((found.share, found.us.0), ((0.0, 0.0), 900.0));
        assert_eq!(hidden(&[], Some(1.0), 1.0, 99.0), None);
        assert_eq!(hidden(&of, None, 0.0, 99.0), None);
        assert_eq!(hidden(&of, None, 1e3, 99.0).unwrap().us.1, f64::INFINITY);
    }
}
