//! The row that a table prints for one histogram.

use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Latency;

/// The figures of one distribution of times.
///
/// Units: nanoseconds. A percentile is `None` when fewer than [`MIN_BEYOND`](crate::MIN_BEYOND) samples
/// lie beyond it, the mean and the maximum when there is no sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of samples.
    pub count: u64,
    /// The arithmetic mean.
    pub mean_ns: Option<Nanos>,
    /// The median.
    pub p50_ns: Option<Nanos>,
    /// The 90th percentile.
    pub p90_ns: Option<Nanos>,
    /// The 95th percentile.
    pub p95_ns: Option<Nanos>,
    /// The 99th percentile.
    pub p99_ns: Option<Nanos>,
    /// The 99.9th percentile.
    pub p999_ns: Option<Nanos>,
    /// The 99.99th percentile.
    pub p9999_ns: Option<Nanos>,
    /// The longest.
    pub max_ns: Option<Nanos>,
}

impl Summary {
    /// Each figure with the name that a table gives it, in a table's order.
    pub fn figures(&self) -> [(&'static str, Option<Nanos>); 8] {
        [
            ("mean", self.mean_ns),
            ("p50", self.p50_ns),
            ("p90", self.p90_ns),
            ("p95", self.p95_ns),
            ("p99", self.p99_ns),
            ("p99.9", self.p999_ns),
            ("p99.99", self.p9999_ns),
            ("max", self.max_ns),
        ]
    }
}

impl From<&Latency> for Summary {
    fn from(latency: &Latency) -> Summary {
        Summary {
            count: latency.count(),
            mean_ns: latency.mean(),
            p50_ns: latency.percentile(50.0),
            p90_ns: latency.percentile(90.0),
            p95_ns: latency.percentile(95.0),
            p99_ns: latency.percentile(99.0),
            p999_ns: latency.percentile(99.9),
            p9999_ns: latency.percentile(99.99),
            max_ns: latency.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_the_count_allows() {
        let check = |n: u64, expect: [Option<u64>; 8]| {
            let mut latency = Latency::new();
            (1..=n).for_each(|t| latency.record(Nanos(t)));
            let summary = Summary::from(&latency);
            assert_eq!(summary.count, n);
            assert_eq!(summary.figures().map(|(_, v)| v.map(|v| v.0)), expect, "{n}");
        };
        check(0, [None; 8]);
        check(1, [Some(1), None, None, None, None, None, None, Some(1)]);
        check(100, [Some(51), Some(50), Some(90), None, None, None, None, Some(100)]);
        check(1_000, [Some(501), Some(500), Some(900), Some(950), Some(990), None, None, Some(1_000)]);
    }
}
