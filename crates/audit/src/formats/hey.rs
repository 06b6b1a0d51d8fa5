//! hey.

use super::{Content, Format};
use crate::number::{number, plain, whole};
use crate::{Failures, Loop, Output};

pub(super) const FORMAT: Format = Format { name: "hey", recognises, read };

fn recognises(content: &Content) -> bool {
    content.text.contains("Latency distribution:") && content.text.contains("DNS+dialup:")
}

fn read(content: &Content) -> Result<Output, String> {
    let us = |label: &str| content.figure(label).map(|seconds| seconds * 1e6);
    let mut output = Output {
        tool: "hey",
        load: Loop::Closed,
        achieved_rps: content.figure("Requests/sec:"),
        duration_s: content.figure("Total:"),
        failures: Failures::ResponsesOnly,
        mean_us: us("Average:"),
        max_us: us("Slowest:"),
        ..Output::default()
    };
    for line in content.text.lines().map(str::trim) {
        if let Some((at, time)) = line.split_once("% in ") {
            if let Some((at, (time, _))) = plain(at).zip(number(time)) {
                output.at(at, time.value * 1e6, time.step * 1e6);
            }
        } else if let Some((status, responses)) = line.strip_prefix('[').and_then(|line| line.split_once(']'))
        {
            let Some((status, number)) = plain(status).zip(plain(responses)) else { continue };
            if responses.trim_end().ends_with("responses") {
                output.samples = Some(output.samples.unwrap_or(0).saturating_add(whole(number)));
                if !(200.0..400.0).contains(&status) {
                    output.errors = output.errors.saturating_add(whole(number));
                }
            }
        }
    }
    // Requests without a response, by error.
    let failed = content.text.split_once("Error distribution:").map_or("", |(_, rest)| rest);
    for line in failed.lines().filter_map(|line| line.trim().strip_prefix('[')) {
        let number = plain(line).map_or(0, whole);
        output.errors = output.errors.saturating_add(number);
        output.timeouts = output.timeouts.saturating_add(number);
    }
    Ok(output)
}
