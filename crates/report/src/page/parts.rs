use maud::{Markup, html};
use results::{LoadPoint, Trial};

use crate::figure::load_label;
use crate::load::LoadUnit;
use crate::number;
use crate::sessions::{DISTRIBUTION_HEADS, distributions};
use crate::subject::Subject;

/// A trial of each load with the words that name the load.
type Rows<'a> = Vec<(String, &'a Trial)>;

/// The split of the load over servers, connections and machines, and their errors; empty if no trial reports it.
pub(crate) fn parts(subjects: &[Subject]) -> Markup {
    let rows: Rows = subjects
        .iter()
        .flat_map(|subject| {
            let who = if subjects.len() > 1 { format!("{} · ", subject.name) } else { String::new() };
            subject
                .points
                .iter()
                .filter_map(move |point| Some((format!("{who}{}", load_label(point)), typical(point)?)))
        })
        .collect();
    let tables = [
        sessions(&rows),
        felt(&rows),
        operations(&rows),
        errors(&rows),
        servers(&rows),
        wire(&rows),
        connections(&rows),
        agents(&rows),
    ];
    let tables: Vec<Markup> = tables.into_iter().flatten().collect();
    html! {
        @if !tables.is_empty() {
            section #parts {
                h2 {
                    @if LoadUnit::of_subjects(subjects) == LoadUnit::Sessions { "By session, operation" }
                    @else { "By operation" }
                    ", error, server, connection and machine"
                }
                p.lead { "Of each load the trial in the middle of its repeats, by its median p99." }
                @for table in &tables { (table) }
            }
        }
    }
}

/// The trial in the middle of the repeats.
pub(crate) fn typical<'a>(point: &LoadPoint<'a>) -> Option<&'a Trial> {
    point.representative(|trial| trial.all.response_time.p99_us)
}

/// A table whose first columns are words; `None` without rows.
pub(crate) fn table(title: &str, heads: &[&str], words: usize, rows: Vec<Vec<String>>) -> Option<Markup> {
    let class = |i: usize| (i < words).then_some("text");
    (!rows.is_empty()).then(|| {
        html! {
            div.scroll {
                table {
                    caption { (title) }
                    thead { tr { @for (i, head) in heads.iter().enumerate() { th class=[class(i)] { (head) } } } }
                    tbody {
                        @for (i, row) in rows.iter().enumerate() {
                            tr {
                                @for (j, cell) in row.iter().enumerate() {
                                    @if j == 0 {
                                        // A load is named in its first row only.
                                        th.text scope="row" { @if i == 0 || rows[i - 1][0] != *cell { (cell) } }
                                    } @else { td class=[class(j)] { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    })
}

fn sessions(rows: &Rows) -> Option<Markup> {
    let rows = rows.iter().filter_map(|(load, trial)| {
        let of = trial.sessions.as_ref()?;
        let live = number::count(of.live_mean.round() as u64);
        let counts = [of.underway, of.begun, of.refused, of.ended, of.cut, of.live_max].map(number::count);
        let [underway, begun, refused, ended, cut, most] = counts;
        Some(vec![load.clone(), underway, begun, refused, ended, cut, live, most])
    });
    let heads = [
        "load",
        "under way at the start",
        "arrived",
        "without room",
        "ended",
        "cut",
        "live, mean",
        "at most",
    ];
    table("What became of the sessions", &heads, 1, rows.collect())
}

fn felt(rows: &Rows) -> Option<Markup> {
    let rows = rows.iter().flat_map(|(load, trial)| {
        distributions(trial).into_iter().map(move |row| [vec![load.clone()], row].concat())
    });
    let heads = [&["load"][..], &DISTRIBUTION_HEADS].concat();
    table("What was measured of sessions", &heads, 2, rows.collect())
}

fn operations(rows: &Rows) -> Option<Markup> {
    let rows = rows.iter().flat_map(|(load, trial)| {
        trial.operations.iter().filter_map(move |operation| {
            let outcomes = operation.outcomes?;
            let name = if operation.follow_up {
                format!("{} (follows others)", operation.name)
            } else {
                operation.name.clone()
            };
            let times = &operation.response_time;
            Some(vec![
                load.clone(),
                name,
                number::count(outcomes.intended),
                number::count(outcomes.completed),
                number::count(outcomes.errors.saturating_add(outcomes.timeouts)),
                number::micros(times.mean_us),
                number::micros(times.p50_us),
                number::micros(times.p99_us),
                number::micros(times.p99_9_us),
                number::micros(times.max_us),
            ])
        })
    });
    let heads =
        ["load", "operation", "requests", "completed", "errors", "mean", "p50", "p99", "p99.9", "max"];
    table("Each operation", &heads, 2, rows.collect())
}

fn errors(rows: &Rows) -> Option<Markup> {
    let rows = rows.iter().flat_map(|(load, trial)| {
        let due = trial.arrivals.intended as f64;
        trial.errors.iter().map(move |error| {
            let detail = error.first_detail.clone().unwrap_or_else(|| number::NONE.into());
            let share = error.requests.filter(|requests| *requests > 0);
            let share = number::or_none(share, |requests| number::percent(requests as f64 / due));
            vec![load.clone(), error.kind.replace('_', " "), detail, number::count(error.count), share]
        })
    });
    table(
        "Errors by kind",
        &["load", "kind", "the first of them", "number", "of requests"],
        3,
        rows.collect(),
    )
}

fn servers(rows: &Rows) -> Option<Markup> {
    let rows = rows.iter().flat_map(|(load, trial)| {
        trial.servers.iter().map(move |server| {
            let bytes = |bytes: Option<u64>| number::or_none(bytes, |n| number::bytes(n as f64));
            vec![
                load.clone(),
                server.address.clone(),
                number::count(server.requests),
                number::or_none(server.share, number::percent),
                number::count(server.errors),
                number::micros(server.response_time.p50_us),
                number::micros(server.response_time.p99_us),
                number::micros(server.service_time.p50_us),
                number::micros(server.service_time.p99_us),
                bytes(server.bytes_sent),
                bytes(server.bytes_received),
            ]
        })
    });
    let heads = [
        "load",
        "server",
        "requests",
        "share",
        "errors",
        "p50",
        "p99",
        "service p50",
        "service p99",
        "sent",
        "received",
    ];
    table("Each server", &heads, 2, rows.collect())
}

fn wire(rows: &Rows) -> Option<Markup> {
    let rows = rows.iter().filter_map(|(load, trial)| {
        let (traffic, datagrams) = (trial.traffic, trial.datagrams);
        traffic.is_some().then_some(()).or(datagrams.map(|_| ()))?;
        let speed = |bytes: Option<f64>| number::or_none(bytes, |n| format!("{}/s", number::bytes(n)));
        let mut row = vec![
            load.clone(),
            trial.transport.map_or(number::NONE, |transport| transport.words()).into(),
            speed(traffic.map(|t| t.sent_bytes_per_s)),
            speed(traffic.map(|t| t.received_bytes_per_s)),
        ];
        let counts = datagrams.map(|d| [d.sent, d.lost, d.late, d.duplicated, d.reordered, d.multi]);
        row.extend((0..6).map(|i| number::or_none(counts, |counts| number::count(counts[i]))));
        Some(row)
    });
    let heads = [
        "load",
        "transport",
        "sent",
        "received",
        "datagrams",
        "lost",
        "late",
        "twice",
        "reordered",
        "of several",
    ];
    table("On the wire; datagrams where requests went over UDP", &heads, 2, rows.collect())
}

fn connections(rows: &Rows) -> Option<Markup> {
    let rows = rows.iter().filter_map(|(load, trial)| {
        let spread = trial.connections.as_ref()?;
        Some(vec![
            load.clone(),
            number::count(spread.count),
            number::count(spread.requests_min),
            number::count(spread.requests_median as u64),
            number::count(spread.requests_max),
            number::or_none(spread.imbalance, number::ratio),
            number::micros(spread.p99_min_us),
            number::micros(spread.p99_median_us),
            number::micros(spread.p99_max_us),
        ])
    });
    let heads = [
        "load",
        "connections",
        "requests min",
        "median",
        "max",
        "max / mean",
        "best p99",
        "median p99",
        "worst p99",
    ];
    table("How evenly the connections were used and served", &heads, 1, rows.collect())
}

fn agents(rows: &Rows) -> Option<Markup> {
    let rows = rows.iter().flat_map(|(load, trial)| {
        trial.agents.iter().map(move |agent| {
            vec![
                load.clone(),
                agent.name.clone(),
                agent.address.clone(),
                agent.version.clone(),
                agent.verdict.label().into(),
                number::offset(agent.clock_offset_us, agent.clock_offset_error_us),
                number::or_none(agent.drift_ppm, |ppm| format!("{} ppm", number::short(ppm))),
                LoadUnit::of(trial).rate(Some(agent.offered_rps)),
                number::rate(Some(agent.achieved_rps)),
                number::micros(agent.response_time.p99_us),
                number::micros(agent.generator_lag.p99_us),
            ]
        })
    });
    let heads = [
        "load",
        "agent",
        "address",
        "version",
        "verdict",
        "clock offset",
        "drift",
        "offered",
        "achieved",
        "p99",
        "lag p99",
    ];
    table(
        "Each agent with its clock against the coordinator’s, and its own verdict",
        &heads,
        5,
        rows.collect(),
    )
}
