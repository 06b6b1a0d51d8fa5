//! The JSON of memtier_benchmark (`--json-out-file`).

use serde_json::Value;

use super::{Content, Format};
use crate::number::{plain, whole};
use crate::{Failures, Loop, Output, Service};

pub(super) const FORMAT: Format = Format { name: "memtier_benchmark (JSON)", recognises, read };

fn recognises(content: &Content) -> bool {
    content.has_json(&["/configuration/clients", "/configuration/key_pattern"])
}

fn read(content: &Content) -> Result<Output, String> {
    let json = content.json.as_ref().ok_or("it is no object")?;
    let averaged =
        json.as_object().into_iter().flatten().find(|(name, _)| name.starts_with("AGGREGATED AVERAGE"));
    let stats =
        averaged.map(|(_, stats)| stats).or_else(|| json.get("ALL STATS")).ok_or("it has no statistics")?;
    let totals = stats.get("Totals").ok_or("it has no totals")?;
    let figure =
        |name: &str| totals.get(name).and_then(Value::as_f64).filter(|value| (0.0..=1e18).contains(value));
    let setting = |name: &str| content.json_figure(&format!("/configuration/{name}"));
    let achieved_rps = figure("Ops/sec");
    let milliseconds = stats.pointer("/Runtime/Total duration").and_then(Value::as_f64);
    let (threads, clients) = (setting("threads"), setting("clients"));
    let server = json.pointer("/configuration/server").and_then(Value::as_str);
    let mut output = Output {
        tool: "memtier_benchmark",
        service: Service::Cache,
        server: server.zip(setting("port")).map(|(server, port)| format!("{server}:{port}")),
        load: Loop::Closed,
        achieved_rps,
        connections: threads.zip(clients).map(|(threads, clients)| threads * clients),
        duration_s: milliseconds.map(|ms| ms / 1e3).filter(|s| *s > 0.0 && *s <= 1e9),
        samples: figure("Count").map(whole),
        errors: figure("Connection Errors").map_or(0, whole),
        failures: Failures::Included,
        mean_us: figure("Average Latency").filter(|ms| *ms > 0.0).map(|ms| ms * 1e3),
        max_us: figure("Max Latency").filter(|ms| *ms > 0.0).map(|ms| ms * 1e3),
        averaged_runs: averaged.map_or(0, |(name, _)| {
            name.split_once('(')
                .and_then(|(_, runs)| plain(runs))
                .map_or_else(|| setting("run_count").map_or(2, whole), whole)
        }),
        threads,
        ..Output::default()
    };
    let percentiles = totals.get("Percentile Latencies").and_then(Value::as_object);
    for (name, ms) in percentiles.into_iter().flatten() {
        if let Some((at, ms)) = name.strip_prefix('p').and_then(|at| at.parse::<f64>().ok()).zip(ms.as_f64())
        {
            output.at(at, ms * 1e3, 0.0);
        }
    }
    Ok(output)
}
