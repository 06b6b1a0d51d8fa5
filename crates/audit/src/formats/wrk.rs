//! wrk, wrk2, and `taillight wrk`, which prints as wrk2 does.

use super::{Content, Format};
use crate::number::{count, plain, time_us, whole};
use crate::{Failures, Loop, Output};

pub(super) const FORMAT: Format = Format { name: "wrk and wrk2", recognises, read };

fn recognises(content: &Content) -> bool {
    content.after("Running ").is_some_and(|line| line.contains(" test @ "))
        && content.after("Thread Stats").is_some()
}

fn read(content: &Content) -> Result<Output, String> {
    let (length, server) =
        content.after("Running ").and_then(|line| line.split_once(" test @ ")).unwrap_or_default();
    let is_wrk2 = content.text.contains("(HdrHistogram - Recorded Latency)")
        || content.text.contains("Thread calibration:");
    let line = content.after("Latency ").ok_or("the line of the latency is missing")?;
    let mut columns = line.split_whitespace();
    let mut time = || columns.next().and_then(time_us).map(|number| number.value);
    let mean_us = time();
    let max_us = {
        time();
        time()
    };
    let requests =
        content.text.lines().find_map(|line| line.split_once(" requests in ")).ok_or("it has no total")?;
    let mut output = Output {
        tool: if is_wrk2 { "wrk2" } else { "wrk" },
        server: Some(server.to_owned()),
        load: if is_wrk2 { Loop::Open } else { Loop::Closed },
        achieved_rps: content.figure("Requests/sec:"),
        duration_s: time_us(requests.1).or_else(|| time_us(length)).map(|time| time.value / 1e6),
        samples: plain(requests.0).map(whole),
        failures: Failures::ResponsesOnly,
        mean_us,
        max_us,
        from_intended: is_wrk2,
        // Source: `stats_correct` in wrk's main, since version 4.
        adds_requests: !is_wrk2,
        leaves_out_warmup: is_wrk2,
        ..Output::default()
    };
    let shape = content.text.lines().find_map(|line| line.split_once(" threads and "));
    if let Some((threads, connections)) = shape {
        (output.threads, output.connections) = (plain(threads), count(connections));
    }
    // wrk2 records after its calibration, and says how many.
    if let Some(recorded) = content
        .text
        .split_once("Total count")
        .and_then(|(_, rest)| plain(rest.trim_start_matches([' ', '='])))
    {
        output.samples = Some(whole(recorded));
    }
    let mut is_distribution = false;
    for line in content.text.lines() {
        if line.trim_start().starts_with("Latency Distribution") {
            is_distribution = output.percentiles.is_empty();
        } else if is_distribution {
            match line.trim().split_once('%').and_then(|(at, time)| Some((plain(at)?, time_us(time)?))) {
                Some((at, time)) => output.at(at, time.value, time.step),
                None => is_distribution = false,
            }
        }
    }
    if let Some(errors) = content.after("Socket errors:") {
        for (name, figure) in errors.split(',').filter_map(|error| error.trim().split_once(' ')) {
            let number = plain(figure).map_or(0, whole);
            output.errors = output.errors.saturating_add(number);
            output.timeouts = output.timeouts.saturating_add(number);
            if name == "timeout" && !is_wrk2 {
                // These had a response, which counts among the requests; its time is left out. Source: wrk's
                // `response_complete`, since version 4.
                output.samples = output.samples.map(|all| all.saturating_sub(number));
            }
        }
    }
    let bad = content.figure("Non-2xx or 3xx responses:").map_or(0, whole);
    output.errors = output.errors.saturating_add(bad);
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_responses_of_wrk_are_requests_without_a_time() {
        let text = "Running 2s test @ http://h:80/\n  1 threads and 16 connections\n  Thread Stats   Avg      Stdev     Max\n\
                    \x20   Latency     1.46ms    3.01ms  23.33ms   91.26%\n  1000 requests in 2.02s, 17.39MB read\n\
                    \x20 Socket errors: connect 1, read 2, write 3, timeout 40\n  Non-2xx or 3xx responses: 5\n\
                    Requests/sec:    495.05\n";
        let output = read(&Content::of(text.as_bytes())).unwrap();
        assert_eq!((output.samples, output.errors, output.timeouts), (Some(960), 51, 46));
        assert_eq!((output.ended(), output.failed_samples()), (1006, 5));
    }
}
