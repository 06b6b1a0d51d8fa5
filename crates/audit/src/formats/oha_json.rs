//! The JSON of oha.

use serde_json::Value;

use super::oha_text::{CUT, is_bad};
use super::{Content, Format};
use crate::number::plain;
use crate::{Failures, Loop, Output};

pub(super) const FORMAT: Format = Format { name: "oha (JSON)", recognises, read };

fn recognises(content: &Content) -> bool {
    content.has_json(&["/summary/successRate", "/summary/requestsPerSec"])
}

fn read(content: &Content) -> Result<Output, String> {
    let us = |pointer: &str| content.json_figure(pointer).map(|seconds| seconds * 1e6);
    let sum = |pointer: &str, counts: fn(&str) -> bool| {
        let object = content.json.as_ref().and_then(|json| json.pointer(pointer)).and_then(Value::as_object);
        let numbers = object?.iter().filter(|(name, _)| counts(name)).filter_map(|(_, count)| count.as_u64());
        Some(numbers.fold(0, u64::saturating_add))
    };
    let bad = sum("/statusCodeDistribution", |status| plain(status).is_some_and(is_bad)).unwrap_or(0);
    let unanswered = sum("/errorDistribution", |error| error != CUT).unwrap_or(0);
    let mut output = Output {
        tool: "oha",
        load: Loop::Closed,
        achieved_rps: content.json_figure("/summary/requestsPerSec"),
        duration_s: content.json_figure("/summary/total"),
        samples: sum("/statusCodeDistribution", |_| true),
        errors: bad.saturating_add(unanswered),
        timeouts: unanswered,
        failures: Failures::ResponsesOnly,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_pages_fail_and_requests_cut_by_the_end_do_not() {
        let text = r#"{"summary": {"successRate": 1.0, "total": 10.0, "requestsPerSec": 12.0},
            "statusCodeDistribution": {"200": 100, "503": 20},
            "errorDistribution": {"aborted due to deadline": 8, "connection closed": 3}}"#;
        let content = Content::of(text.as_bytes());
        assert!(recognises(&content));
        let output = read(&content).unwrap();
        assert_eq!((output.samples, output.errors, output.timeouts), (Some(120), 23, 3));
        assert_eq!((output.ended(), output.failed_samples()), (123, 20));
    }
}
