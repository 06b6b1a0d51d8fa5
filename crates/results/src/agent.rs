use serde::{Deserialize, Serialize};

use crate::{LatencySummary, Verdict};

/// One machine's part in a trial that several machines generated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentRecord {
    /// The name of its machine.
    pub name: String,
    /// Address at which it was reached.
    pub address: String,
    /// The version of its program.
    pub version: String,
    /// Its clock minus the coordinator's, at the start.
    pub clock_offset_us: Option<f64>,
    /// Error bound of that estimate.
    pub clock_offset_error_us: Option<f64>,
    /// Relative drift of its clock, positive if faster. Units: ppm.
    pub drift_ppm: Option<f64>,
    /// Its part of the offered load.
    pub offered_rps: f64,
    /// Requests answered within the window that it received, per second.
    pub achieved_rps: f64,
    /// Arrivals of the window in its part.
    pub arrivals: u64,
    /// The response times that it measured.
    pub response_time: LatencySummary,
    /// sent − eligible: its own lag.
    pub generator_lag: LatencySummary,
    /// Share of the time that its threads spent working, 0 to 1.
    pub busy_share: Option<f64>,
    /// Changes made to its machine for the load, as command-line options, with the skipped parts of a profile as
    /// comments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knobs: Vec<String>,
    /// Verdict of its own part of the load.
    pub verdict: Verdict,
}
