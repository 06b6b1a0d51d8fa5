use schemars::JsonSchema;

use crate::{Comparison, Experiment, Study};

/// The JSON schema of `result.json` as this version writes it, made from the types.
///
/// Kept in `docs/reference/result-schema-v3.json`; a test compares the two.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Experiment).to_value()
}

/// The JSON schema of `study.json` as this version writes it, made from the types.
///
/// Kept in `docs/reference/study-schema-v2.json`; a test compares the two.
pub fn study_json_schema() -> serde_json::Value {
    schemars::schema_for!(Study).to_value()
}

/// The JSON schema of the record of a comparison as this version writes it, made from the types.
///
/// Kept in `docs/reference/comparison-schema-v1.json`; a test compares the two.
pub fn comparison_json_schema() -> serde_json::Value {
    schemars::schema_for!(Comparison).to_value()
}

/// A quality-of-service (QoS) target: a percentile of the response time and its limit.
///
/// As `units::Qos` is written, which does without this library.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its shape is used")]
pub(crate) struct Qos {
    /// The percentile, over 0 and below 100.
    percentile: f64,
    /// The response time that it must not pass.
    limit_ns: u64,
    /// The figure that is judged; null leaves it to the measurement.
    basis: Option<QosBasis>,
}

/// Which figure a quality-of-service target judges.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[allow(dead_code, reason = "only its shape is used")]
pub(crate) enum QosBasis {
    /// The percentile over all requests of the window.
    Raw,
    /// The median over 100 ms windows of each window's percentile.
    Windowed,
}
