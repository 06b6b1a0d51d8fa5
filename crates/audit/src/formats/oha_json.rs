//! The JSON of oha.

use serde_json::Value;

use super::{Content, Format};
use crate::number::whole;
use crate::{Failures, Loop, Output};

pub(super) const FORMAT: Format = Format { name: "oha (JSON)", recognises, read };

fn recognises(content: &Content) -> bool {
    content.has_json(&["/summary/successRate", "/summary/requestsPerSec"])
}

fn read(content: &Content) -> Result<Output, String> {
    let us = |pointer: &str| content.json_figure(pointer).map(|seconds| seconds * 1e6);
    let sum = |pointer: &str| {
        let object = content.json.as_ref().and_then(|json| json.pointer(pointer)).and_then(Value::as_object);
        object.map(|counts| counts.values().filter_map(Value::as_u64).fold(0, u64::saturating_add))
    };
    let mut output = Output {
        tool: "oha",
        load: Loop::Closed,
        achieved_rps: content.json_figure("/summary/requestsPerSec"),
        duration_s: content.json_figure("/summary/total"),
        samples: sum("/statusCodeDistribution"),
        errors: sum("/errorDistribution").map_or(0, |errors| whole(errors as f64)),
        failures: Failures::LeftOut,
        mean_us: us("/summary/average"),
        max_us: us("/summary/slowest"),
        ..Output::default()
    };
    let percentiles = content.json.as_ref().and_then(|json| json.pointer("/latencyPercentiles"));
    for (name, seconds) in percentiles.and_then(Value::as_object).into_iter().flatten() {
        let at = name.strip_prefix('p').and_then(|at| at.parse::<f64>().ok());
        if let Some((at, seconds)) = at.zip(seconds.as_f64()) {
            output.at(at, seconds * 1e6, 0.0);
        }
    }
    Ok(output)
}
