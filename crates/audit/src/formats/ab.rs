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
    let scheme = if content.after("SSL/TLS Protocol:").is_some() { "https" } else { "http" };
    // `(Connect: 0, Receive: 0, Length: 12, Exceptions: 0)`: a page of another length than the first is not a failure,
    // as pages that are made for each request differ.
    let causes = content.after("(Connect:").and_then(|causes| causes.split_once("Length:"));
    let longer = causes.and_then(|(_, length)| plain(length)).map_or(0, whole);
    let failed = content.figure("Failed requests:").map_or(0, whole).saturating_sub(longer);
    let mut output = Output {
        tool: "ab",
        server: server.map(|(host, port)| format!("{scheme}://{host}:{port}{path}")),
        load: Loop::Closed,
        achieved_rps: content.figure("Requests per second:"),
        connections: content.figure("Concurrency Level:"),
        duration_s: content.figure("Time taken for tests:"),
        samples: content.figure("Complete requests:").map(whole),
        errors: failed.saturating_add(content.figure("Non-2xx responses:").map_or(0, whole)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn output(more: &str) -> Output {
        let text = format!(
            "Server Hostname:        h\nServer Port:            8443\n{more}\
             Document Path:          /a\nTime taken for tests:   1.997 seconds\nComplete requests:      400\n"
        );
        read(&Content::of(text.as_bytes())).unwrap()
    }

    #[test]
    fn pages_of_several_lengths_are_no_failures() {
        let check = |more: &str, expect: u64| assert_eq!(output(more).errors, expect, "{more}");
        check("Failed requests:        0\n", 0);
        let causes = "   (Connect: 0, Receive: 2, Length: 397, Exceptions: 1)\n";
        check(&format!("Failed requests:        400\n{causes}"), 3);
        check(&format!("Failed requests:        400\n{causes}Non-2xx responses:      5\n"), 8);
        check("Failed requests:        7\n", 7);
    }

    #[test]
    fn a_run_with_tls_is_repeated_with_it() {
        assert_eq!(output("").server.as_deref(), Some("http://h:8443/a"));
        let tls = output("SSL/TLS Protocol:       TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256\n");
        assert_eq!(tls.server.as_deref(), Some("https://h:8443/a"));
    }
}
