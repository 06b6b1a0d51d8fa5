use serde::{Deserialize, Serialize};
use units::{QosBasis, ResponseTarget};

use crate::{Invalid, Trial};

/// The range of a figure without the effects of generator and host, which only lengthen response times. Units: µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Bounds {
    /// Lower bound.
    pub low_us: f64,
    /// Upper bound: the figure as measured, or of the undisturbed windows.
    pub high_us: f64,
}

impl Bounds {
    /// A figure with an uncertainty above this share of itself is not usable...
    const SHARE: f64 = 0.1;
    /// ...unless the uncertainty is below this: the time that wires and event loops add to known times
    /// (`docs/reference/accuracy.md`).
    const US: f64 = 50.0;

    /// Whether the bounds are close enough to state the figure as one number.
    pub fn is_usable(&self) -> bool {
        self.high_us - self.low_us <= Bounds::US.max(Bounds::SHARE * self.low_us)
    }
}

/// The bounds of a trial's response times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TimeBounds {
    /// By percentile, rising: all percentiles of the trial.
    pub percentiles: Vec<PercentileBounds>,
    /// Bounds of the windowed p99.
    pub windowed_p99: Option<Bounds>,
    /// Upper bound of the share of operations within their limits, 0 to 1; `None` if operations have no limits.
    pub within: Option<f64>,
    /// Why the bounds are too wide for a usable figure, in words; `None` if they are usable at the judged percentile.
    pub slowed: Option<Invalid>,
}

/// The bounds of one percentile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PercentileBounds {
    /// The percentile, 0 to 100.
    pub percentile: f64,
    /// Bounds of the percentile.
    #[serde(flatten)]
    pub bounds: Bounds,
}

impl TimeBounds {
    /// The kept percentiles, the same as in [`LatencySummary`](crate::LatencySummary).
    pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];
}

impl Trial {
    /// Bounds of a percentile of the response times; `None` if unknown, as in results of earlier versions.
    pub fn percentile_bounds(&self, percentile: f64) -> Option<Bounds> {
        let known = &self.bounds.as_ref()?.percentiles;
        known.iter().find(|known| (known.percentile - percentile).abs() < 1e-9).map(|known| known.bounds)
    }

    /// Lower bound of a percentile of the response times: its own, or if it has none in a trial that generator or host
    /// slowed, that of the next lower percentile. `None` if the measured value is all that is known.
    pub(crate) fn percentile_least_us(&self, percentile: f64) -> Option<f64> {
        if let Some(own) = self.percentile_bounds(percentile) {
            return Some(own.low_us);
        }
        self.slowed()?;
        let mut known = self.bounds.as_ref()?.percentiles.iter().rev();
        known.find(|known| known.percentile <= percentile).map(|known| known.bounds.low_us)
    }

    /// Bounds of the response time that `target` judges. `basis` is the choice of the experiment for targets without
    /// one of their own.
    pub fn qos_bounds(&self, target: &ResponseTarget, basis: QosBasis) -> Option<Bounds> {
        match target.basis.unwrap_or(basis) {
            QosBasis::Windowed if self.windowed_p99_us.is_some() => self.bounds.as_ref()?.windowed_p99,
            QosBasis::Windowed => self.percentile_bounds(99.0),
            QosBasis::Raw => self.percentile_bounds(target.percentile),
        }
    }

    /// Whether generator or host lengthened its response times beyond the uncertainty of a usable figure.
    pub fn is_disturbed(&self) -> bool {
        self.verdict.is_disturbed() || self.slowed().is_some()
    }

    /// Why the response times, and the shares within limits, are only upper bounds; `None` if they are usable figures.
    pub fn slowed(&self) -> Option<&Invalid> {
        self.bounds.as_ref()?.slowed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_usable_where_they_are_close() {
        let check = |low_us: f64, high_us: f64, expect: bool| {
            assert_eq!(Bounds { low_us, high_us }.is_usable(), expect, "{low_us} {high_us}");
        };
        check(100.0, 150.0, true);
        check(100.0, 151.0, false);
        check(1_000.0, 1_100.0, true);
        check(1_000.0, 1_101.0, false);
        check(0.0, 60.0, false);
    }
}
