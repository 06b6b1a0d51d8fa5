use schemars::JsonSchema;

use crate::{Comparison, Experiment, Study};

/// The JSON schema of `result.json` as this version writes it, generated from the types.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Experiment).to_value()
}

/// The JSON schema of `study.json` as this version writes it, generated from the types.
pub fn study_json_schema() -> serde_json::Value {
    schemars::schema_for!(Study).to_value()
}

/// The JSON schema of a comparison's record as this version writes it, generated from the types.
pub fn comparison_json_schema() -> serde_json::Value {
    schemars::schema_for!(Comparison).to_value()
}

/// A quality-of-service (QoS) target: a percentile of the response time and its limit, or a list of conditions all of
/// which must hold.
///
/// Has the JSON form of `units::Qos`, which does not depend on the schema library.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its shape is used")]
pub(crate) enum Qos {
    /// A single response time.
    ResponseTime(ResponseTarget),
    /// Conditions on response times, on sessions, or on both.
    Conditions {
        /// At least one condition.
        conditions: Vec<Condition>,
    },
}

/// A percentile of the response time and its limit.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its shape is used")]
pub(crate) struct ResponseTarget {
    /// The percentile, over 0 and below 100.
    percentile: f64,
    /// The limit of the response time.
    limit_ns: u64,
    /// The judged figure; null leaves the choice to the measurement.
    basis: Option<QosBasis>,
}

/// One condition of a QoS target.
#[derive(JsonSchema)]
#[schemars(tag = "kind", rename_all = "snake_case")]
#[allow(dead_code, reason = "only its shape is used")]
pub(crate) enum Condition {
    /// A condition on the response times of all requests.
    ResponseTime(ResponseTarget),
    /// A condition on named times: a distribution of sessions, such as `startup`, or the response times of one
    /// operation.
    Times {
        /// The distribution or the operation.
        name: String,
        /// The percentile, over 0 and below 100.
        percentile: f64,
        /// The limit of the time.
        limit_ns: u64,
    },
    /// A condition on a ratio that the workload counts, such as `misses`.
    Ratio {
        /// Name of the ratio, as typed.
        name: String,
        /// Whether the limit is a maximum; otherwise it is a minimum.
        at_most: bool,
        /// The limit, 0 to 100.
        limit_percent: f64,
    },
}

/// The figure that a quality-of-service target judges.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[allow(dead_code, reason = "only its shape is used")]
pub(crate) enum QosBasis {
    /// The percentile over all requests of the window.
    Raw,
    /// The median over windows of each window's percentile.
    Windowed,
}
