use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// Figures of one server of a cluster in a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerFigures {
    /// Its listening address.
    pub address: String,
    /// Requests of the window sent to it.
    pub requests: u64,
    /// Requests to it that failed or timed out.
    pub errors: u64,
    /// Its share of all servers' requests, 0 to 1.
    pub share: Option<f64>,
    /// done − intended.
    pub response_time: LatencySummary,
    /// done − sent.
    pub service_time: LatencySummary,
    /// Bytes sent to it within the window.
    pub bytes_sent: Option<u64>,
    /// Bytes received from it within the window.
    pub bytes_received: Option<u64>,
}
