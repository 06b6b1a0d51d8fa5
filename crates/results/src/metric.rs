use crate::{Basis, Bounds, LatencySummary, Trial};

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

/// A figure of one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Without the host's disturbance; `None` if too few windows are free of it.
    pub undisturbed: Option<f64>,
    /// Of all requests, as a user was served.
    pub served: Option<f64>,
}

impl Reading {
    /// The value without disturbance, or else as served.
    pub fn claimed(self) -> Option<f64> {
        self.undisturbed.or(self.served)
    }

    /// The values to compare: both without disturbance, or else both as served, since the host disturbs one trial more than
    /// another.
    pub fn pair(a: Reading, b: Reading) -> Option<(f64, f64)> {
        let both = |read: fn(Reading) -> Option<f64>| read(a).zip(read(b));
        both(|reading| reading.undisturbed).or_else(|| both(|reading| reading.served))
    }
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
        self.among(trial.claimed(), trial.windowed_p99_us)
    }

    fn among(self, times: &LatencySummary, windowed_p99_us: Option<f64>) -> Option<f64> {
        match self {
            Metric::Mean => times.mean_us,
            Metric::P50 => times.p50_us,
            Metric::P99 => times.p99_us,
            Metric::WindowedP99 => windowed_p99_us,
            Metric::P999 => times.p99_9_us,
        }
    }

    /// The figure of `trial` with and without the windows in which the host disturbed it, for a comparison.
    pub fn reading(self, trial: &Trial) -> Reading {
        let claimed = self.of(trial);
        let disturbance = trial.disturbance.as_ref();
        let is_quiet = match self {
            Metric::WindowedP99 => self.bounds(trial).is_none_or(|bounds| bounds.low_us == bounds.high_us),
            _ => disturbance.is_none_or(|found| found.basis != Basis::Nothing),
        };
        let windowed = disturbance.and_then(|found| found.windowed_p99_of_all_us).or(trial.windowed_p99_us);
        let served = self.among(&trial.all.response_time, windowed);
        Reading { undisturbed: claimed.filter(|_| is_quiet), served }
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
