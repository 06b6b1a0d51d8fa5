use crate::{Bounds, Trial};

/// A figure of the response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is its name")]
pub enum Metric {
    Mean,
    P50,
    P99,
    WindowedP99,
    P999,
}

impl Metric {
    /// All metrics, in the order of a table.
    pub const ALL: [Metric; 5] = [Metric::Mean, Metric::P50, Metric::P99, Metric::WindowedP99, Metric::P999];

    /// Name in tables.
    pub fn words(self) -> &'static str {
        match self {
            Metric::Mean => "mean",
            Metric::P50 => "p50",
            Metric::P99 => "p99",
            Metric::WindowedP99 => "windowed p99",
            Metric::P999 => "p99.9",
        }
    }

    /// The figure of `trial`, of the requests that its claims rest on; `None` if it was not measured. Units: µs.
    pub fn of(self, trial: &Trial) -> Option<f64> {
        let response_time = trial.claimed();
        match self {
            Metric::Mean => response_time.mean_us,
            Metric::P50 => response_time.p50_us,
            Metric::P99 => response_time.p99_us,
            Metric::WindowedP99 => trial.windowed_p99_us,
            Metric::P999 => response_time.p99_9_us,
        }
    }

    /// Bounds of the figure without generator and host; `None` for a mean, and if unknown.
    pub fn bounds(self, trial: &Trial) -> Option<Bounds> {
        match self {
            Metric::Mean => None,
            Metric::P50 => trial.percentile_bounds(50.0),
            Metric::P99 => trial.percentile_bounds(99.0),
            Metric::WindowedP99 => trial.bounds.as_ref()?.windowed_p99,
            Metric::P999 => trial.percentile_bounds(99.9),
        }
    }
}
