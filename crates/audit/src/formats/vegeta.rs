//! The JSON report of vegeta.

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
    for (name, ns) in content.json_figures("/latencies") {
        if let Some(at) = name.strip_suffix("th").and_then(plain) {
            output.at(at, ns / 1e3, 0.0);
        }
    }
    Ok(output)
}
