use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Arrivals, LatencySummary};

/// The histograms of one operation, summarized.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// `get`, `set`, or `all`.
    pub name: String,
    /// done − intended; includes time-outs and unfinished requests at their age.
    pub response_time: LatencySummary,
    /// done − sent.
    pub service_time: LatencySummary,
    /// eligible − intended: the wait for a connection.
    pub connection_wait: LatencySummary,
    /// sent − eligible: the generator's own fault.
    pub generator_lag: LatencySummary,
    /// What became of its requests.
    #[serde(default)]
    pub outcomes: Option<Arrivals>,
    /// Whether its requests follow others, as a set follows a miss: they are not arrivals, count neither as
    /// offered load nor in `all`, and their intended time is the end of the request that they follow.
    #[serde(default)]
    pub follow_up: bool,
}
