//! The table of memtier_benchmark.

use super::{Content, Format};
use crate::number::{number, plain, whole};
use crate::{Failures, Loop, Output, Service};

pub(super) const FORMAT: Format = Format { name: "memtier_benchmark (text)", recognises, read };

fn recognises(content: &Content) -> bool {
    content.text.contains("Ops/sec")
        && content.text.contains("Avg. Latency")
        && content.after("Totals").is_some()
}

fn read(content: &Content) -> Result<Output, String> {
    let header = content
        .text
        .lines()
        .find(|line| line.starts_with("Type") && line.contains("Ops/sec"))
        .ok_or("the heads of its table are missing")?;
    // With several runs the table of their means is the last one.
    let totals = content.text.lines().rev().find_map(|line| line.strip_prefix("Totals")).unwrap_or_default();
    let totals: Vec<&str> = totals.split_whitespace().collect();
    // Columns end where their heads end; `Avg. Latency` and `p99 Latency` are two words.
    let heads = header.replace("Avg. Latency", "Avg").replace(" Latency", "");
    let columns: Vec<&str> = heads.split_whitespace().skip(1).collect();
    let cell = |head: &str| plain(totals.get(columns.iter().position(|column| *column == head)?)?);
    let shape = |label: &str| plain(content.text.lines().find(|line| line.trim_end().ends_with(label))?);
    let (threads, clients) = (shape("Threads"), shape("Connections per thread"));
    let achieved_rps = cell("Ops/sec").ok_or("it has no rate")?;
    let requests = shape("Requests per client").zip(threads.zip(clients)).map(|(n, (t, c))| n * t * c);
    let seconds = shape("Seconds");
    let mut output = Output {
        tool: "memtier_benchmark",
        service: Service::Cache,
        load: Loop::Closed,
        achieved_rps: Some(achieved_rps),
        connections: threads.zip(clients).map(|(threads, clients)| threads * clients),
        duration_s: seconds.or_else(|| requests.filter(|_| achieved_rps > 0.0).map(|n| n / achieved_rps)),
        samples: requests.or_else(|| seconds.map(|s| s * achieved_rps)).map(whole),
        failures: Failures::Included,
        mean_us: cell("Avg").map(|ms| ms * 1e3),
        threads,
        averaged_runs: content
            .text
            .split_once("AGGREGATED AVERAGE RESULTS (")
            .and_then(|(_, rest)| plain(rest))
            .map_or(0, whole),
        ..Output::default()
    };
    for (head, cell) in columns.iter().zip(&totals) {
        if let Some((at, (ms, _))) = head.strip_prefix('p').and_then(plain).zip(number(cell)) {
            output.at(at, ms.value * 1e3, ms.step * 1e3);
        }
    }
    Ok(output)
}
