use std::time::Duration;

use export::{CONTENT_TYPE, Metrics};

use crate::Error;
use crate::otlp::metrics_json;

/// A receiver that takes longer than this would hold up the program that measured.
const PATIENCE: Duration = Duration::from_secs(10);

/// Puts the OpenMetrics text to `address`, such as a push gateway's `http://HOST:9091/metrics/job/taillight`.
///
/// Errors: an address that is not plain HTTP, a receiver that cannot be reached within 10 s or refuses.
pub fn push_openmetrics(metrics: &Metrics, address: &str) -> Result<(), Error> {
    let request = agent().put(address).header("Content-Type", CONTENT_TYPE);
    request.send(metrics.openmetrics()).map(drop).map_err(|error| failed(address, &error))
}

/// Sends the metrics to the OpenTelemetry collector at `address`, such as `http://localhost:4318`, by OTLP over HTTP
/// with JSON.
///
/// Units: both times in nanoseconds since the Unix epoch: the trial's start, and the moment of the figures.
/// Errors: an address that is not plain HTTP, a collector that cannot be reached within 10 s or refuses.
pub fn push_otlp(metrics: &Metrics, address: &str, started: u64, at: u64) -> Result<(), Error> {
    // The path that the specification gives to a base address.
    let whole = format!("{}/v1/metrics", address.trim_end_matches('/').trim_end_matches("/v1/metrics"));
    let request = agent().post(&whole).header("Content-Type", "application/json");
    request.send(&metrics_json(metrics, started, at)).map(drop).map_err(|error| failed(&whole, &error))
}

pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into()
}

pub(crate) fn failed(address: &str, error: &ureq::Error) -> Error {
    Error::Push { address: address.into(), problem: error.to_string() }
}
