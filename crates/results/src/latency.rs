use hist::Latency;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The figures of one histogram.
///
/// Units: microseconds. `None` if fewer than 10 samples lie beyond the percentile: print it as "–".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct LatencySummary {
    pub count: u64,
    pub mean_us: Option<f64>,
    pub p50_us: Option<f64>,
    pub p90_us: Option<f64>,
    pub p95_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub p99_9_us: Option<f64>,
    pub p99_99_us: Option<f64>,
    pub max_us: Option<f64>,
}

impl LatencySummary {
    /// The figures of `latency`.
    pub fn of(latency: &Latency) -> LatencySummary {
        let us = |value: Option<Nanos>| value.map(Nanos::as_micros_f64);
        LatencySummary {
            count: latency.count(),
            mean_us: us(latency.mean()),
            p50_us: us(latency.percentile(50.0)),
            p90_us: us(latency.percentile(90.0)),
            p95_us: us(latency.percentile(95.0)),
            p99_us: us(latency.percentile(99.0)),
            p99_9_us: us(latency.percentile(99.9)),
            p99_99_us: us(latency.percentile(99.99)),
            max_us: us(latency.max()),
        }
    }

    /// The kept percentiles, in words.
    pub(crate) const KEPT: &str = "p50, p90, p95, p99, p99.9 and p99.99";

    /// The figure at a kept percentile, which may be missing; `None` for any other percentile.
    pub fn percentile_us(&self, percentile: f64) -> Option<Option<f64>> {
        match percentile {
            50.0 => Some(self.p50_us),
            90.0 => Some(self.p90_us),
            95.0 => Some(self.p95_us),
            99.0 => Some(self.p99_us),
            99.9 => Some(self.p99_9_us),
            99.99 => Some(self.p99_99_us),
            _ => None,
        }
    }

    /// The known percentiles, rising, with the longest as 100.
    pub(crate) fn points(&self) -> Vec<(f64, f64)> {
        let kept = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99].map(|p| (p, self.percentile_us(p).flatten()));
        let points = kept.into_iter().chain([(100.0, self.max_us)]);
        points.filter_map(|(percentile, us)| Some((percentile, us?))).collect()
    }
}
