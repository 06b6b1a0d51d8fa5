use maud::{Markup, html};
use results::{
    AgentRecord, ConnectionSpread, ErrorCount, LoadPoint, Operation, ServerFigures, Sessions, Trial,
};

use super::table::{Column, table, table_of};
use crate::figure::load_label;
use crate::load::LoadUnit;
use crate::number;
use crate::sessions::{DISTRIBUTION_HEADS, distributions};
use crate::subject::Subject;

/// A trial of each load with the words that name the load.
type Rows<'a> = [(String, &'a Trial)];

/// The split of the load over servers, connections and machines, and their errors; empty if no trial reports it.
pub(crate) fn parts(subjects: &[Subject]) -> Markup {
    let rows: Vec<(String, &Trial)> = subjects
        .iter()
        .flat_map(|subject| {
            let who = subject.prefix(subjects);
            let of = move |point| Some((format!("{who}{}", load_label(point)), typical(point)?));
            subject.points.iter().filter_map(of)
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
    html! {
        @if tables.iter().any(|table| !table.0.is_empty()) {
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

fn sessions(rows: &Rows) -> Markup {
    let rows = rows.iter().filter_map(|(load, trial)| Some((load, trial.sessions.as_ref()?)));
    let columns: &[Column<(&String, &Sessions)>] = &[
        ("load", |(load, _)| (*load).clone()),
        ("under way at the start", |(_, of)| number::count(of.underway)),
        ("arrived", |(_, of)| number::count(of.begun)),
        ("without room", |(_, of)| number::count(of.refused)),
        ("ended", |(_, of)| number::count(of.ended)),
        ("cut", |(_, of)| number::count(of.cut)),
        ("live, mean", |(_, of)| number::count(of.live_mean.round() as u64)),
        ("at most", |(_, of)| number::count(of.live_max)),
    ];
    table_of("What became of the sessions", 1, rows, columns)
}

fn felt(rows: &Rows) -> Markup {
    let rows = rows.iter().flat_map(|(load, trial)| {
        distributions(trial).into_iter().map(move |row| [vec![load.clone()], row].concat())
    });
    let heads = [&["load"][..], &DISTRIBUTION_HEADS].concat();
    table("What was measured of sessions", 2, &heads, &rows.collect::<Vec<_>>())
}

/// An operation of a load, and the outcomes of its requests.
type OperationRow<'a> = (&'a String, &'a Operation, results::Arrivals);

fn operations(rows: &Rows) -> Markup {
    let rows: Vec<OperationRow<'_>> = rows
        .iter()
        .flat_map(|(load, trial)| {
            trial.operations.iter().filter_map(move |operation| Some((load, operation, operation.outcomes?)))
        })
        .collect();
    let counts: &[Column<OperationRow<'_>>] = &[
        ("load", |(load, ..)| (*load).clone()),
        ("operation", |(_, operation, _)| {
            format!("{}{}", operation.name, if operation.follow_up { " (follows others)" } else { "" })
        }),
        ("requests", |(.., outcomes)| number::count(outcomes.intended)),
        ("completed", |(.., outcomes)| number::count(outcomes.completed)),
        ("errors", |(.., outcomes)| number::count(outcomes.failed())),
    ];
    // Of operations that have limits of their own; due are also those that were never sent.
    let limits: &[Column<OperationRow<'_>>] = &[
        ("due", |(_, operation, _)| number::or_none(operation.within, |of| number::count(of.due))),
        ("limit", |(_, operation, _)| {
            number::or_none(operation.within, |of| number::micros_short(of.limit_us))
        }),
        ("within", |(_, operation, _)| {
            let share = operation.within.as_ref().and_then(results::OperationLimit::share);
            number::or_none(share, number::percent_of_all)
        }),
    ];
    let times: &[Column<OperationRow<'_>>] = &[
        ("mean", |(_, operation, _)| number::micros(operation.response_time.mean_us)),
        ("p50", |(_, operation, _)| number::micros(operation.response_time.p50_us)),
        ("p95", |(_, operation, _)| number::micros(operation.response_time.p95_us)),
        ("p99", |(_, operation, _)| number::micros(operation.response_time.p99_us)),
        ("p99.9", |(_, operation, _)| number::micros(operation.response_time.p99_9_us)),
        ("max", |(_, operation, _)| number::micros(operation.response_time.max_us)),
    ];
    let tiers: &[Column<OperationRow<'_>>] =
        &[("in the server, mean (calls)", |(_, operation, _)| self::tiers(operation))];
    let has = |column: fn(&Operation) -> bool| rows.iter().any(|(_, operation, _)| column(operation));
    let limits = if has(|operation| operation.within.is_some()) { limits } else { &[] };
    let tiers = if has(|operation| !operation.tiers.is_empty()) { tiers } else { &[] };
    table_of("Each operation", 2, rows, &[counts, limits, times, tiers].concat())
}

/// The mean work of the server's tiers for an operation, as its answers report it: `php 2.04 ms, db 860 µs (2)`.
fn tiers(operation: &Operation) -> String {
    let tier = |tier: &results::TierWork| {
        let calls =
            if tier.calls > 0.0 { format!(" ({})", number::short(tier.calls)) } else { String::new() };
        format!("{} {}{calls}", tier.name, number::micros(Some(tier.mean_us)))
    };
    let all: Vec<String> = operation.tiers.iter().map(tier).collect();
    if all.is_empty() { number::NONE.into() } else { all.join(", ") }
}

fn errors(rows: &Rows) -> Markup {
    let rows =
        rows.iter().flat_map(|(load, trial)| trial.errors.iter().map(move |error| (load, *trial, error)));
    let columns: &[Column<(&String, &Trial, &ErrorCount)>] = &[
        ("load", |(load, ..)| (*load).clone()),
        ("kind", |(.., error)| error.kind.replace('_', " ")),
        ("the first of them", |(.., error)| number::or_none(error.first_detail.clone(), |detail| detail)),
        ("number", |(.., error)| number::count(error.count)),
        ("of requests", |(_, trial, error)| {
            let requests = error.requests.filter(|requests| *requests > 0);
            let share = requests.map(|requests| requests as f64 / trial.arrivals.intended as f64);
            number::or_none(share, number::percent)
        }),
    ];
    table_of("Errors by kind", 3, rows, columns)
}

fn servers(rows: &Rows) -> Markup {
    fn bytes(bytes: Option<u64>) -> String {
        number::or_none(bytes, |n| number::bytes(n as f64))
    }
    let rows = rows.iter().flat_map(|(load, trial)| trial.servers.iter().map(move |server| (load, server)));
    let columns: &[Column<(&String, &ServerFigures)>] = &[
        ("load", |(load, _)| (*load).clone()),
        ("server", |(_, server)| server.address.clone()),
        ("requests", |(_, server)| number::count(server.requests)),
        ("share", |(_, server)| number::or_none(server.share, number::percent)),
        ("errors", |(_, server)| number::count(server.errors)),
        ("p50", |(_, server)| number::micros(server.response_time.p50_us)),
        ("p99", |(_, server)| number::micros(server.response_time.p99_us)),
        ("service p50", |(_, server)| number::micros(server.service_time.p50_us)),
        ("service p99", |(_, server)| number::micros(server.service_time.p99_us)),
        ("sent", |(_, server)| bytes(server.bytes_sent)),
        ("received", |(_, server)| bytes(server.bytes_received)),
    ];
    table_of("Each server", 2, rows, columns)
}

fn wire(rows: &Rows) -> Markup {
    fn speed(per_s: Option<f64>) -> String {
        number::or_none(per_s, |n| format!("{}/s", number::bytes(n)))
    }
    fn datagrams(trial: &Trial, read: fn(&results::Datagrams) -> u64) -> String {
        number::or_none(trial.datagrams.as_ref(), |datagrams| number::count(read(datagrams)))
    }
    let rows = rows.iter().filter(|(_, trial)| trial.traffic.is_some() || trial.datagrams.is_some());
    let columns: &[Column<&(String, &Trial)>] = &[
        ("load", |(load, _)| load.clone()),
        ("transport", |(_, trial)| number::or_none(trial.transport, |transport| transport.words().into())),
        ("sent", |(_, trial)| speed(trial.traffic.map(|traffic| traffic.sent_bytes_per_s))),
        ("received", |(_, trial)| speed(trial.traffic.map(|traffic| traffic.received_bytes_per_s))),
        ("datagrams", |(_, trial)| datagrams(trial, |of| of.sent)),
        ("lost", |(_, trial)| datagrams(trial, |of| of.lost)),
        ("late", |(_, trial)| datagrams(trial, |of| of.late)),
        ("twice", |(_, trial)| datagrams(trial, |of| of.duplicated)),
        ("reordered", |(_, trial)| datagrams(trial, |of| of.reordered)),
        ("of several", |(_, trial)| datagrams(trial, |of| of.multi)),
    ];
    table_of("On the wire; datagrams where requests went over UDP", 2, rows, columns)
}

fn connections(rows: &Rows) -> Markup {
    let rows = rows.iter().filter_map(|(load, trial)| Some((load, trial.connections.as_ref()?)));
    let columns: &[Column<(&String, &ConnectionSpread)>] = &[
        ("load", |(load, _)| (*load).clone()),
        ("connections", |(_, spread)| number::count(spread.count)),
        ("requests min", |(_, spread)| number::count(spread.requests_min)),
        ("median", |(_, spread)| number::count(spread.requests_median as u64)),
        ("max", |(_, spread)| number::count(spread.requests_max)),
        ("max / mean", |(_, spread)| number::or_none(spread.imbalance, number::ratio)),
        ("best p99", |(_, spread)| number::micros(spread.p99_min_us)),
        ("median p99", |(_, spread)| number::micros(spread.p99_median_us)),
        ("worst p99", |(_, spread)| number::micros(spread.p99_max_us)),
    ];
    table_of("How evenly the connections were used and served", 1, rows, columns)
}

fn agents(rows: &Rows) -> Markup {
    let rows =
        rows.iter().flat_map(|(load, trial)| trial.agents.iter().map(move |agent| (load, *trial, agent)));
    let columns: &[Column<(&String, &Trial, &AgentRecord)>] = &[
        ("load", |(load, ..)| (*load).clone()),
        ("agent", |(.., agent)| agent.name.clone()),
        ("address", |(.., agent)| agent.address.clone()),
        ("version", |(.., agent)| agent.version.clone()),
        ("verdict", |(.., agent)| agent.verdict.label().into()),
        ("clock offset", |(.., agent)| number::offset(agent.clock_offset_us, agent.clock_offset_error_us)),
        ("drift", |(.., agent)| {
            number::or_none(agent.drift_ppm, |ppm| format!("{} ppm", number::short(ppm)))
        }),
        ("offered", |(_, trial, agent)| LoadUnit::of(trial).rate(Some(agent.offered_rps))),
        ("achieved", |(.., agent)| number::rate(Some(agent.achieved_rps))),
        ("p99", |(.., agent)| number::micros(agent.response_time.p99_us)),
        ("lag p99", |(.., agent)| number::micros(agent.generator_lag.p99_us)),
    ];
    table_of("Each agent with its clock against the coordinator’s, and its own verdict", 5, rows, columns)
}
