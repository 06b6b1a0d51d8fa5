use serde::{Deserialize, Serialize};

use super::Counter;

/// The server's own counters, read at the beginning and the end of each slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerCounters {
    /// From the first response of a slot to its last, summed over the slots.
    pub observed_s: f64,
    /// Name of the server program: `memcached 1.6.18`, `nginx`; one name for several identical servers.
    pub program: String,
    /// Servers whose counters were read.
    pub servers: u32,
    /// Responses of all of them together.
    pub answers: u64,
    /// From a request to its complete response.
    pub answer_us_mean: f64,
    /// `requests_per_s`, `requests_per_wait`, `cpu_us_per_request` and others, if this server counts them. In a cache,
    /// a get of several keys counts once for each key, as the server counts it.
    pub figures: Vec<Counter>,
    /// Time of requests by the server's own clock, if it reports it.
    pub service: Option<ServerTime>,
}

/// A server's own histogram of its service times, with steps of one octave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerTime {
    /// Timed requests.
    pub requests: u64,
    /// Mean time from the return of a receive to just before the send of the response.
    pub mean_us: f64,
    /// Upper end of the step that contains the median; `None` beyond the last step.
    pub p50_at_most_us: Option<f64>,
    /// Upper end of the step that contains the 99th percentile; `None` beyond the last step.
    pub p99_at_most_us: Option<f64>,
}

impl ServerCounters {
    /// The figure `name`.
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}
