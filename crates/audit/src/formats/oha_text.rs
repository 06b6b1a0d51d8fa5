//! The text of oha.

use super::{Content, Format};
use crate::number::{number, plain, time_us, whole};
use crate::{Failures, Loop, Output};

pub(super) const FORMAT: Format = Format { name: "oha (text)", recognises, read };

fn recognises(content: &Content) -> bool {
    content.after("Success rate:").is_some() && content.text.contains("Response time distribution:")
}

fn read(content: &Content) -> Result<Output, String> {
    let us = |label: &str| content.after(label).and_then(time_us).map(|time| time.value);
    let mut output = Output {
        tool: "oha",
        // With -q, too: a worker that waits for a response sends nothing.
        load: Loop::Closed,
        achieved_rps: content.figure("Requests/sec:"),
        duration_s: us("Total:").map(|us| us / 1e6),
        failures: Failures::LeftOut,
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
            let Some((count, rest)) = number(responses) else { continue };
            if plain(status).is_some() && rest.trim() == "responses" {
                output.samples = Some(output.samples.unwrap_or(0).saturating_add(whole(count.value)));
            }
        }
    }
    let failed = content.text.split_once("Error distribution:").map_or("", |(_, rest)| rest);
    for line in failed.lines().filter_map(|line| line.trim().strip_prefix('[')) {
        output.errors = output.errors.saturating_add(plain(line).map_or(0, whole));
    }
    Ok(output)
}
