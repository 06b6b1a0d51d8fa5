//! The JSON of oha.

use super::hey::{CUT, is_bad};
use super::{Content, Format};
use crate::number::{plain, whole};
use crate::{Failures, Loop, Output};

pub(super) const FORMAT: Format = Format { name: "oha (JSON)", recognises, read };

fn recognises(content: &Content) -> bool {
    content.has_json(&["/summary/successRate", "/summary/requestsPerSec"])
}

fn read(content: &Content) -> Result<Output, String> {
    let us = |pointer: &str| content.json_figure(pointer).map(|seconds| seconds * 1e6);
    let sum = |pointer: &str, counts: fn(&str) -> bool| {
        let counted = content.json_figures(pointer).filter(|(name, _)| counts(name));
        counted.map(|(_, count)| whole(count)).fold(0, u64::saturating_add)
    };
    let statuses = "/statusCodeDistribution";
    let bad = sum(statuses, |status| plain(status).is_some_and(is_bad));
    let unanswered = sum("/errorDistribution", |error| error != CUT);
    let mut output = Output {
        tool: "oha",
        load: Loop::Closed,
        achieved_rps: content.json_figure("/summary/requestsPerSec"),
        duration_s: content.json_figure("/summary/total"),
        samples: content.has_json(&[statuses]).then(|| sum(statuses, |_| true)),
        errors: bad.saturating_add(unanswered),
        timeouts: unanswered,
        failures: Failures::ResponsesOnly,
        mean_us: us("/summary/average"),
        max_us: us("/summary/slowest"),
        ..Output::default()
    };
    for (name, seconds) in content.json_figures("/latencyPercentiles") {
        if let Some(at) = name.strip_prefix('p').and_then(plain) {
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
