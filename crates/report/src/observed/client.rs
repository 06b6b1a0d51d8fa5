use maud::Markup;
use results::LatencySummary;

use super::{Looked, tables};
use crate::number;

/// A row: its name, and its figure of a histogram.
type Figure = (&'static str, fn(&LatencySummary) -> Option<f64>);

const FIGURES: [Figure; 4] = [
    ("mean", |times| times.mean_us),
    ("p50", |times| times.p50_us),
    ("p99", |times| times.p99_us),
    ("p99.9", |times| times.p99_9_us),
];

/// The response time, split at the stamps of the client's kernel.
pub(super) fn client(looked: &[Looked]) -> Markup {
    let rows = looked.iter().flat_map(|load| {
        let client = load.trial.probes.as_ref().and_then(|probes| probes.client.as_ref());
        client.into_iter().flat_map(move |client| {
            let all = &load.trial.all;
            FIGURES.into_iter().enumerate().map(move |(i, (name, of))| {
                let us = |times: &LatencySummary| number::micros(of(times));
                vec![
                    // A load is named in its first row only.
                    if i == 0 { tables::name(load) } else { String::new() },
                    name.to_owned(),
                    us(&all.connection_wait),
                    us(&all.generator_lag),
                    us(&client.to_device),
                    us(&client.away),
                    us(&client.to_reader),
                    us(&client.service_time),
                    us(&all.service_time),
                    us(&all.response_time),
                ]
            })
        })
    });
    let heads = [
        "load",
        "",
        "waiting for a connection",
        "generator’s lag",
        "written → device",
        "network and server",
        "device → read",
        "those three",
        "service time of all",
        "response time of all",
    ];
    let first = looked.iter().find_map(|load| load.trial.probes.as_ref()?.client.as_ref());
    let caption = first.map_or(String::new(), |client| {
        format!(
            "The response time, cut at the kernel’s stamps in the client (SO_TIMESTAMPING) on one connection in {}: what lies \
             between the stamps is the network’s and the server’s, the rest the client’s own. Two columns are of all \
             requests: what stamping costs is the three parts together over the service time of all. Percentiles do not add \
             up; means do. The clocks agree to {}.",
            client.one_in,
            number::micros(Some(client.clocks_us))
        )
    });
    tables::table(&caption, &heads, 2, rows.collect())
}
