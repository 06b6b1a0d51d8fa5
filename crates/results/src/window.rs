use serde::{Deserialize, Serialize};

/// One window of 100 ms, or longer in a trial of more than 100 s.
///
/// A time series of the load, the outstanding requests, and the response times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WindowPoint {
    /// From the start of the trial's window.
    pub start_ms: u64,
    /// Requests with a response time whose intended time lies in it.
    pub count: u64,
    /// Median response time.
    pub p50_us: Option<f64>,
    /// 99th percentile of the response time.
    pub p99_us: Option<f64>,
    /// Longest response time.
    pub max_us: Option<f64>,
    /// Arrivals that were due and not yet sent when the window ended.
    pub backlog: Option<u64>,
    /// Requests that were sent and not yet answered when the window ended.
    #[serde(default)]
    pub in_flight: Option<u64>,
    /// Arrivals whose intended time lies in it: the offered load.
    #[serde(default)]
    pub offered: Option<u64>,
    /// Requests answered in it, whenever they were due: the achieved throughput.
    #[serde(default)]
    pub answered: Option<u64>,
    /// Its arrivals that failed or timed out.
    #[serde(default)]
    pub errors: Option<u64>,
    /// Keys that the server had, of those asked for whose answers came in it; absent without gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<u64>,
    /// Keys asked for whose answers came in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gets: Option<u64>,
    /// Whether the host stalled or another process took the processor in it.
    pub disturbed: bool,
}

impl WindowPoint {
    /// Requests due and not answered when the window ended: the backlog and those in flight.
    pub fn outstanding(&self) -> Option<u64> {
        Some(self.backlog?.saturating_add(self.in_flight?))
    }

    /// The share of the keys that the server had, 0 to 1; `None` if none was asked for.
    pub fn hit_ratio(&self) -> Option<f64> {
        let gets = self.gets.filter(|gets| *gets > 0)?;
        Some(self.hits? as f64 / gets as f64)
    }
}
