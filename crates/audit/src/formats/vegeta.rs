//! The JSON report of vegeta.

use serde_json::Value;

use super::{Content, Format};
use crate::number::{plain, whole};
use crate::{Failures, Loop, Output};

pub(super) const FORMAT: Format = Format { name: "vegeta report -type=json", recognises, read };

fn recognises(content: &Content) -> bool {
    content.has_json(&["/latencies/99th", "/requests", "/throughput"])
}

fn read(content: &Content) -> Result<Output, String> {
    let us = |pointer: &str| content.json_figure(pointer).map(|ns| ns / 1e3);
    let requests = content.json_figure("/requests").ok_or("it has no number of requests")?;
    let success = content.json_figure("/success").unwrap_or(1.0).min(1.0);
    let duration_s = content.json_figure("/duration").map(|ns| ns / 1e9);
    let wait_s = content.json_figure("/wait").map_or(0.0, |ns| ns / 1e9);
    let mut output = Output {
        tool: "vegeta",
        load: Loop::Open,
        offered_rps: content.json_figure("/rate"),
        achieved_rps: duration_s.map(|s| s + wait_s).filter(|s| *s > 0.0).map(|s| requests / s),
        duration_s,
        samples: Some(whole(requests)),
        errors: whole((requests * (1.0 - success)).round()),
        timeouts: content.json_figure("/status_codes/0").map_or(0, whole),
        failures: Failures::Included,
        mean_us: us("/latencies/mean"),
        max_us: us("/latencies/max"),
        // Its t-digest states no error.
        is_sketch: true,
        ..Output::default()
    };
    let latencies =
        content.json.as_ref().and_then(|json| json.pointer("/latencies")).and_then(Value::as_object);
    for (name, ns) in latencies.into_iter().flatten().filter(|(name, _)| name.ends_with("th")) {
        if let Some((at, ns)) = plain(name).zip(ns.as_f64()) {
            output.at(at, ns / 1e3, 0.0);
        }
    }
    Ok(output)
}
