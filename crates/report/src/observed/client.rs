use maud::Markup;
use results::LatencySummary;
use results::probes::ClientTimes;

use super::Looked;
use crate::number;
use crate::page::{Column, probe_table};

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
    let stamped = looked.iter().filter_map(|load| Some((load, load.probes()?.client.as_ref()?)));
    let caption = stamped.clone().next().map_or(String::new(), |(_, client)| {
        format!(
            "The response time, cut at the kernel’s stamps in the client (SO_TIMESTAMPING) on one connection in {}: what lies \
             between the stamps is the network’s and the server’s, the rest the client’s own. Two columns are of all \
             requests: what stamping costs is the three parts together over the service time of all. Percentiles do not add \
             up; means do. The clocks agree to {}.",
            client.one_in,
            number::micros(Some(client.clocks_us))
        )
    });
    let rows = stamped.flat_map(|(load, client)| FIGURES.map(|figure| (load, client, figure)));
    let columns: &[Column<(&Looked, &ClientTimes, Figure)>] = &[
        // A load is named in its first row only.
        ("load", |(load, _, (name, _))| if *name == FIGURES[0].0 { load.name() } else { String::new() }),
        ("", |(.., (name, _))| (*name).to_owned()),
        ("waiting for a connection", |(load, _, (_, of))| {
            number::micros(of(&load.trial.all.connection_wait))
        }),
        ("generator’s lag", |(load, _, (_, of))| number::micros(of(&load.trial.all.generator_lag))),
        ("written → device", |(_, client, (_, of))| number::micros(of(&client.to_device))),
        ("network and server", |(_, client, (_, of))| number::micros(of(&client.away))),
        ("device → read", |(_, client, (_, of))| number::micros(of(&client.to_reader))),
        ("those three", |(_, client, (_, of))| number::micros(of(&client.service_time))),
        ("service time of all", |(load, _, (_, of))| number::micros(of(&load.trial.all.service_time))),
        ("response time of all", |(load, _, (_, of))| number::micros(of(&load.trial.all.response_time))),
    ];
    probe_table(&caption, 2, rows, columns)
}
