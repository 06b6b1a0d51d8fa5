use hist::Latency;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Arrivals;

/// The share of requests answered within a target: Memloader's own metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Within {
    /// The target of the response time.
    pub target_us: f64,
    /// Requests answered within it over all that were due, 0 to 1: errors, time-outs and unfinished requests missed it.
    pub share: f64,
}

impl Within {
    /// The share of `arrivals` whose `response_time` is at most `target`; `None` without arrivals.
    ///
    /// Bounds: 0.1 % of the target, the width of a cell. Time-outs and unfinished requests are in the histogram at
    /// their age, which exceeds any sensible target; the count is capped at the completed requests.
    pub fn of(response_time: &Latency, arrivals: &Arrivals, target: Nanos) -> Option<Within> {
        let within = response_time.count_within(target).min(arrivals.completed);
        (arrivals.intended > 0).then(|| Within {
            target_us: target.as_micros_f64(),
            share: within as f64 / arrivals.intended as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_answered_missed_the_target() {
        let mut times = Latency::new();
        times.record_n(Nanos::from_micros(100), 80);
        times.record_n(Nanos::from_millis(2), 10);
        // Five time-outs at their age; five errors, which have no response time.
        times.record_n(Nanos::from_secs(1), 5);
        let arrivals = Arrivals { intended: 100, completed: 90, errors: 5, timeouts: 5, unfinished: 0 };
        let check = |target: Nanos, expect: f64| {
            assert_eq!(Within::of(&times, &arrivals, target).unwrap().share, expect, "{target}");
        };
        check(Nanos::from_micros(1), 0.0);
        check(Nanos::from_micros(100), 0.8);
        check(Nanos::from_millis(1), 0.8);
        check(Nanos::from_millis(3), 0.9);
        check(Nanos::from_secs(100), 0.9);
        assert_eq!(Within::of(&times, &Arrivals::default(), Nanos::from_millis(1)), None);
    }
}
