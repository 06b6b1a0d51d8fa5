use serde::{Deserialize, Serialize};

use crate::{Arrivals, LatencySummary};

/// The histograms of one operation, summarized.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// Outcomes of its requests.
    #[serde(default)]
    pub outcomes: Option<Arrivals>,
    /// Whether its requests follow others, as a set follows a miss: they are not arrivals, count neither as offered
    /// load nor in `all`, and their intended time is the end of the request that they follow.
    #[serde(default)]
    pub follow_up: bool,
    /// The part of it that met its own limit, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<OperationLimit>,
    /// Mean work of the server's tiers for this operation, as far as its responses report it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierWork>,
    /// The distribution of its response times, if recorded by operation: pairs of percentile (0 to 100) and µs, rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<(f64, f64)>,
}

/// Arrivals of an operation, and the number that ended well within its limit: errors, time-outs and requests that were
/// never sent do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct OperationLimit {
    pub limit_us: f64,
    pub due: u64,
    pub within: u64,
}

impl OperationLimit {
    /// The share of the due arrivals, 0 to 1; `None` without arrivals.
    pub fn share(&self) -> Option<f64> {
        (self.due > 0).then(|| self.within as f64 / self.due as f64)
    }
}

/// Mean work of one tier of a server, such as its database, for an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TierWork {
    /// `php`, `db` or `cache`.
    pub name: String,
    /// Mean time that it worked on the operation, or that its callers waited for it.
    pub mean_us: f64,
    /// Mean number of calls.
    pub calls: f64,
}
