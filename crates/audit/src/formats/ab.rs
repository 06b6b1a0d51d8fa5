//! ab of Apache.

use super::{Content, Format};
use crate::number::{plain, whole};
use crate::{Failures, Loop, Output};

pub(super) const FORMAT: Format = Format { name: "ab", recognises, read };

fn recognises(content: &Content) -> bool {
    content.text.contains("This is ApacheBench") || content.after("Time taken for tests:").is_some()
}

fn read(content: &Content) -> Result<Output, String> {
    let server = content.after("Server Hostname:").zip(content.after("Server Port:"));
    let path = content.after("Document Path:").unwrap_or("/");
    let mut output = Output {
        tool: "ab",
        server: server.map(|(host, port)| format!("http://{host}:{port}{path}")),
        load: Loop::Closed,
        achieved_rps: content.figure("Requests per second:"),
        connections: content.figure("Concurrency Level:"),
        duration_s: content.figure("Time taken for tests:"),
        samples: content.figure("Complete requests:").map(whole),
        errors: content.figure("Failed requests:").map_or(0, whole)
            + content.figure("Non-2xx responses:").map_or(0, whole),
        failures: Failures::ResponsesOnly,
        mean_us: content.figure("Time per request:").map(|ms| ms * 1e3),
        threads: Some(1.0),
        ..Output::default()
    };
    let table =
        content.text.split_once("Percentage of the requests served within").map_or("", |(_, rest)| rest);
    for line in table.lines().skip(1) {
        let Some((at, ms)) = line.trim().split_once('%').and_then(|(at, ms)| plain(at).zip(plain(ms))) else {
            break;
        };
        if at >= 100.0 {
            output.max_us = Some(ms * 1e3);
        }
        // Whole milliseconds.
        output.at(at, ms * 1e3, 1e3);
    }
    Ok(output)
}
