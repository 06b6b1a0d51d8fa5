use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// The requests that a trial's response times rest on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// All requests due in the window: the host moved their p99 only slightly.
    #[default]
    All,
    /// Requests due in windows without disturbance by the host or lateness of the generator.
    UndisturbedWindows,
    /// None: host or generator may have moved the p99, and left too few undisturbed windows.
    Nothing,
}

/// Effects of the host on a trial's response times, and the requests that the figures rest on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Disturbance {
    /// Number of windows of the windowed p99.
    pub windows: u64,
    /// Length of these windows; 0 in results of earlier versions, which used the windows of the time series.
    #[serde(default)]
    pub window_ms: f64,
    /// Windows without a stall, steal or foreign load, in which the generator was not late.
    pub undisturbed_windows: u64,
    /// Share of the requests that the host may have delayed, 0 to 1: those due while a thread of server or generator
    /// had no processor, or for the same time after it, while the backlog was served.
    pub touched_share: f64,
    /// Share of the time that a working thread of the server waited for a processor that others used, 0 to 1.
    pub server_taken_share: Option<f64>,
    /// The same for the generator's threads.
    pub generator_taken_share: Option<f64>,
    /// Lower bound of the p99 of all requests that `touched_share` allows, without delays by host or generator.
    pub p99_at_least_us: Option<f64>,
    /// The response times of the requests due in undisturbed windows; `None` if every window was disturbed.
    pub undisturbed: Option<LatencySummary>,
    /// The windowed p99 of all windows, disturbed ones included; `None` in results of earlier versions.
    #[serde(default)]
    pub windowed_p99_of_all_us: Option<f64>,
    /// The requests that the trial's response times rest on.
    pub basis: Basis,
}

/// Delay that the generator alone may have added to responses: by sending late, and by reading received data
/// late.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Lateness {
    /// Requests that it may have delayed by more than this are counted, and corrected in `response_time`.
    pub over_us: f64,
    /// Number of these requests.
    pub requests: u64,
    /// Windows whose p99 it may have moved beyond the limit; they are ignored if the p99 of all requests was moved.
    #[serde(default)]
    pub windows: u64,
    /// Limit of this effect on the p99.
    pub limit_us: Option<f64>,
    /// The trial's response times without the generator's lateness: a lower bound of each percentile.
    pub response_time: LatencySummary,
}
