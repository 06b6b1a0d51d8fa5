use std::collections::BTreeMap;

use hist::Latency;
use results::{ByLot, Difference, LatencySummary, TracingCost};
use units::Nanos;

/// Standard errors from a mean to either end of its 95 % interval. Source: the normal distribution's 97.5 % quantile.
const NORMAL_95: f64 = 1.96;
/// The fewest requests whose mean has an interval. Source: ours; from about 30 the normal approximates Student's t to 4
/// %.
const LEAST: u64 = 30;

/// The cost of each operation that has both traced and untraced requests.
pub(crate) fn all(by_lot: &BTreeMap<String, ByLot>) -> Vec<TracingCost> {
    let both = by_lot.iter().filter(|(_, lot)| !lot.traced.is_empty() && !lot.untraced.is_empty());
    both.map(|(operation, lot)| of(operation, lot)).collect()
}

fn of(operation: &str, ByLot { traced, untraced }: &ByLot) -> TracingCost {
    let difference =
        |figure: &dyn Fn(&Latency) -> Option<Estimate>| Some(figure(traced)?.less(figure(untraced)?));
    TracingCost {
        operation: operation.into(),
        traced: LatencySummary::of(traced),
        untraced: LatencySummary::of(untraced),
        mean: difference(&mean),
        p50: difference(&|latency| quantile(latency, 0.5)),
        p99: difference(&|latency| quantile(latency, 0.99)),
    }
}

/// A figure and its 95 % interval. Units: µs.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    low: f64,
    high: f64,
}

impl Estimate {
    /// The difference of two that do not depend on each other.
    ///
    /// Source: G. Y. Zou and A. Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27,
    /// 2008: the distances of each one's limits from it add up as squares.
    fn less(self, other: Estimate) -> Difference {
        let us = self.value - other.value;
        Difference {
            us,
            low_us: us - (self.value - self.low).hypot(other.high - other.value),
            high_us: us + (self.high - self.value).hypot(other.value - other.low),
        }
    }
}

fn mean(latency: &Latency) -> Option<Estimate> {
    if latency.count() < LEAST {
        return None;
    }
    let value = latency.mean()?.as_micros_f64();
    let away = NORMAL_95 * latency.deviation()?.as_micros_f64() / (latency.count() as f64).sqrt();
    Some(Estimate { value, low: value - away, high: value + away })
}

/// A quantile from 0 to 1 and the samples that bound it for any distribution: the ranks of a binomial.
///
/// Bounds: `None` if the upper rank is beyond the last sample.
fn quantile(latency: &Latency, p: f64) -> Option<Estimate> {
    let n = latency.count() as f64;
    let away = NORMAL_95 * (n * p * (1.0 - p)).sqrt();
    let (low, high) = ((n * p - away).floor().max(1.0), (n * p + away).ceil() + 1.0);
    if high > n {
        return None;
    }
    let at = |rank: f64| latency.value_at(100.0 * rank / n).map(Nanos::as_micros_f64);
    Some(Estimate { value: at(n * p)?, low: at(low)?, high: at(high)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lot(traced: impl Iterator<Item = u64>, untraced: impl Iterator<Item = u64>) -> TracingCost {
        let latency = |times: &mut dyn Iterator<Item = u64>| {
            let mut latency = Latency::new();
            times.for_each(|us| latency.record(Nanos(1_000 * us)));
            latency
        };
        let (mut traced, mut untraced) = (traced, untraced);
        let lot = ByLot { traced: latency(&mut traced), untraced: latency(&mut untraced) };
        let by_lot = BTreeMap::from([("browse".to_owned(), lot)]);
        all(&by_lot).remove(0)
    }

    #[test]
    fn a_cost_that_is_there_is_found_with_its_interval() {
        let cost = lot((0..2_000).map(|i| 1_050 + i % 100), (0..20_000).map(|i| 1_000 + i % 100));
        for difference in [cost.mean, cost.p50, cost.p99] {
            let Difference { us, low_us, high_us } = difference.unwrap();
            // Cells of histograms are 0.1 % wide.
            assert!((us - 50.0).abs() < 3.0, "{us}");
            assert!(low_us < us && us < high_us && low_us > 40.0 && high_us < 60.0, "{low_us} {high_us}");
        }
        let none = lot((0..2_000).map(|i| 1_000 + i % 100), (0..20_000).map(|i| 1_000 + i % 100));
        let Difference { low_us, high_us, .. } = none.mean.unwrap();
        assert!(low_us < 0.0 && 0.0 < high_us, "{low_us} {high_us}");
    }

    #[test]
    fn few_requests_have_no_interval() {
        let cost = lot(0..200, 0..20_000);
        assert_eq!((cost.mean.is_some(), cost.p50.is_some(), cost.p99), (true, true, None));
        let cost = lot(0..20, 0..20_000);
        assert_eq!((cost.mean, cost.p99), (None, None));
        assert_eq!(cost.traced.count, 20);
        assert!(all(&BTreeMap::from([("search".to_owned(), ByLot::default())])).is_empty());
    }

    /// The limits of a mean match Student's for large samples, and the squares add up.
    #[test]
    fn limits_are_those_of_the_source() {
        let (a, b) =
            (Estimate { value: 10.0, low: 7.0, high: 14.0 }, Estimate { value: 8.0, low: 5.0, high: 12.0 });
        let Difference { us, low_us, high_us } = a.less(b);
        assert_eq!((us, low_us, high_us), (2.0, -3.0, 7.0));
    }
}
