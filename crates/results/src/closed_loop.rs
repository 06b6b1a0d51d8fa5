use hist::Latency;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::LatencySummary;

/// When a request is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// At a time drawn in advance, independent of the server.
    #[default]
    Open,
    /// After the response to the previous request: a slow server slows the load down, and its tail is sampled too
    /// rarely.
    Closed,
}

/// Results of a closed loop: a fixed number of clients, each of which waits for a response before its next request.
///
/// Both columns are given, since neither is a response time under a load: the first leaves out the requests that a
/// waiting client never sent, the second makes them up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClosedLoop {
    /// Clients, each with at most one outstanding request.
    pub clients: u32,
    /// The mean pause of a client between a response and its next request.
    pub think_time_us: f64,
    /// The time between two requests of one client that the correction for coordinated omission expected;
    /// `None` without a correction.
    pub expected_interval_us: Option<f64>,
    /// The times as measured.
    pub uncorrected: LatencySummary,
    /// The same, plus the requests that a client would have sent at the expected interval while it waited.
    pub corrected: Option<LatencySummary>,
}

impl ClosedLoop {
    /// Both columns from the times that `clients` measured.
    ///
    /// `expected_interval` is the undisturbed time between two requests of one client; zero makes no
    /// correction. Source: HdrHistogram's correction for coordinated omission.
    pub fn new(clients: u32, think_time: Nanos, measured: &Latency, expected_interval: Nanos) -> ClosedLoop {
        let correct = expected_interval > Nanos::ZERO;
        ClosedLoop {
            clients,
            think_time_us: think_time.as_micros_f64(),
            expected_interval_us: correct.then(|| expected_interval.as_micros_f64()),
            uncorrected: LatencySummary::of(measured),
            corrected: correct.then(|| LatencySummary::of(&measured.corrected(expected_interval))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_correction_adds_what_waiting_clients_never_sent() {
        let mut measured = Latency::new();
        measured.record_n(Nanos::from_micros(100), 9_999);
        measured.record(Nanos::from_millis(100));
        let both = ClosedLoop::new(1, Nanos::ZERO, &measured, Nanos::from_micros(100));
        assert_eq!((both.uncorrected.count, both.expected_interval_us), (10_000, Some(100.0)));
        // One wait of 100 ms suppressed 999 requests: due 100 µs apart, they would have waited 99.9 ms and less.
        let corrected = both.corrected.unwrap();
        assert_eq!(corrected.count, 10_999);
        assert!(both.uncorrected.p99_us.unwrap() < 101.0, "{:?}", both.uncorrected);
        assert!(corrected.p99_us.unwrap() > 80_000.0, "{corrected:?}");
    }

    #[test]
    fn without_an_interval_nothing_is_made_up() {
        let both = ClosedLoop::new(4, Nanos::from_micros(5), &Latency::new(), Nanos::ZERO);
        assert_eq!((both.expected_interval_us, both.corrected, both.think_time_us), (None, None, 5.0));
    }
}
