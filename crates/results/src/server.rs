use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// The part of one server of a cluster in a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFigures {
    /// Where it listened.
    pub address: String,
    /// Requests of the window that went to it.
    pub requests: u64,
    /// Those of them that failed or timed out.
    pub errors: u64,
    /// Its part of all servers' requests, 0 to 1.
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
