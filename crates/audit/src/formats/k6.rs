//! The summary of k6: of `--summary-export`, and of `handleSummary`.

use super::{Content, Format};
use crate::number::{plain, whole};
use crate::{Failures, Loop, Output};

pub(super) const FORMAT: Format = Format { name: "k6 --summary-export", recognises, read };

fn recognises(content: &Content) -> bool {
    content.has_json(&["/metrics/iterations", "/metrics/http_reqs"])
}

fn read(content: &Content) -> Result<Output, String> {
    // `handleSummary` has the figures of a metric one level deeper.
    let figure = |metric: &str, name: &str| {
        let below = |values: &str| content.json_figure(&format!("/metrics/{metric}{values}/{name}"));
        below("").or_else(|| below("/values"))
    };
    let count = figure("http_reqs", "count").ok_or("it has no number of requests")?;
    let rate = figure("http_reqs", "rate");
    let duration_s = rate.filter(|rate| *rate > 0.0).map(|rate| count / rate);
    let dropped = figure("dropped_iterations", "count").map_or(0, whole);
    // `passes` counts the requests for which "failed" is true.
    let errors = figure("http_req_failed", "passes").map_or(0, whole);
    let mut output = Output {
        tool: "k6",
        // Only executors with an arrival rate drop iterations; the others are closed loops, and the summary has no name
        // of the executor.
        load: if dropped > 0 { Loop::Open } else { Loop::Unknown },
        offered_rps: (dropped > 0)
            .then(|| rate.zip(figure("iterations", "count").filter(|n| *n > 0.0)))
            .flatten()
            .map(|(rate, iterations)| rate * (1.0 + dropped as f64 / iterations)),
        achieved_rps: rate,
        connections: figure("vus_max", "max").or_else(|| figure("vus_max", "value")),
        duration_s,
        samples: Some(whole(count)),
        errors,
        dropped,
        failures: Failures::Included,
        mean_us: figure("http_req_duration", "avg").map(|ms| ms * 1e3),
        max_us: figure("http_req_duration", "max").map(|ms| ms * 1e3),
        ..Output::default()
    };
    let values = ["/metrics/http_req_duration", "/metrics/http_req_duration/values"];
    for (name, ms) in values.into_iter().flat_map(|values| content.json_figures(values)) {
        let at = if name == "med" { Some(50.0) } else { name.strip_prefix("p(").and_then(plain) };
        if let Some(at) = at {
            output.at(at, ms * 1e3, 0.0);
        }
    }
    Ok(output)
}
