//! The text of hey, and of oha, which has the same form.

use super::{Content, Format};
use crate::number::{number, plain, time_us, whole};
use crate::{Failures, Loop, Output};

pub(super) const HEY: Format =
    Format { name: "hey", recognises: is_hey, read: |content| Ok(read(content, "hey")) };

pub(super) const OHA: Format =
    Format { name: "oha (text)", recognises: is_oha, read: |content| Ok(read(content, "oha")) };

/// The error of oha for requests that were under way when the time of `-z` was over, one for each connection: these are
/// no failures.
pub(super) const CUT: &str = "aborted due to deadline";

/// Whether a response of this status is a failure; to these programs any response is a success.
pub(super) fn is_bad(status: f64) -> bool {
    !(200.0..400.0).contains(&status)
}

fn is_hey(content: &Content) -> bool {
    content.text.contains("Latency distribution:") && content.text.contains("DNS+dialup:")
}

fn is_oha(content: &Content) -> bool {
    content.after("Success rate:").is_some() && content.text.contains("Response time distribution:")
}

fn read(content: &Content, tool: &'static str) -> Output {
    let us = |label: &str| content.after(label).and_then(time_us).map(|time| time.value);
    let mut output = Output {
        tool,
        // With -q, too: a worker that waits for a response sends nothing.
        load: Loop::Closed,
        achieved_rps: content.figure("Requests/sec:"),
        duration_s: us("Total:").map(|us| us / 1e6),
        failures: Failures::ResponsesOnly,
        mean_us: us("Average:"),
        max_us: us("Slowest:"),
        ..Output::default()
    };
    for line in content.text.lines().map(str::trim) {
        if let Some((at, time)) = line.split_once("% in ") {
            if let Some((at, time)) = plain(at).zip(time_us(time)) {
                output.at(at, time.value, time.step);
            }
        } else if let Some((status, responses)) = line.strip_prefix('[').and_then(|line| line.split_once(']'))
        {
            let Some((status, (count, rest))) = plain(status).zip(number(responses)) else { continue };
            if rest.trim() == "responses" {
                let count = whole(count.value);
                output.samples = Some(output.samples.unwrap_or(0).saturating_add(count));
                if is_bad(status) {
                    output.errors = output.errors.saturating_add(count);
                }
            }
        }
    }
    // Requests without a response, by error.
    let failed = content.text.split_once("Error distribution:").map_or("", |(_, rest)| rest);
    for line in failed.lines().filter_map(|line| line.trim().strip_prefix('[')) {
        if line.ends_with(CUT) {
            continue;
        }
        let number = plain(line).map_or(0, whole);
        output.errors = output.errors.saturating_add(number);
        output.timeouts = output.timeouts.saturating_add(number);
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_pages_fail_and_requests_cut_by_the_end_do_not() {
        let text = "Summary:\n  Success rate:\t100.00%\n  Total:\t10.0008 secs\n  Requests/sec:\t12.0\n\
                    Response time distribution:\n  50.00% in 0.0004 secs\n\
                    Status code distribution:\n  [200] 100 responses\n  [503] 20 responses\n\
                    Error distribution:\n  [8] aborted due to deadline\n  [3] connection closed\n";
        let content = Content::of(text.as_bytes());
        assert!(is_oha(&content));
        let output = read(&content, "oha");
        assert_eq!((output.samples, output.errors, output.timeouts), (Some(120), 23, 3));
        assert_eq!((output.ended(), output.failed_samples()), (123, 20));
    }
}
