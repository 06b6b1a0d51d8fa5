use maud::{Markup, html};
use results::{
    Among, EdgeTimes, LatencySummary, Part, ServiceUsage, TracedOperation, Traces, TracingCost, Trial,
};

use super::Traced;
use super::words::difference_words;
use crate::figure::p50_to_p99;
use crate::page::{Column, table, table_of};
use crate::{distinct, number};

/// Calls and times of each service of a subject, sorted by the time at the highest load, the longest first. `ends` are
/// its lowest and its highest load, or one.
pub(super) fn services(ends: &[&Traced<'_>]) -> Markup {
    let Some(high) = ends.last() else { return html! {} };
    let services = ends.iter().flat_map(|load| &load.traces.operations).flat_map(|one| &one.services);
    let names = distinct(services.map(|service| &service.name)).into_iter();
    let mut names: Vec<(&String, Sum)> = names.map(|name| (name, Sum::of(high.traces, name))).collect();
    names.sort_by(|a, b| b.1.whole_ns.cmp(&a.1.whole_ns).then_with(|| a.0.cmp(b.0)));
    let several = ends.len() > 1;
    let of_time: &[&str] = if several { &["of the time, low", "high"] } else { &["of the time"] };
    let of_network: &[&str] = if several { &["transit, queue, low", "high"] } else { &["transit, queue"] };
    let rest = ["queue", "own code", "calls", "occupied a call", "processor a call", "of all"];
    let heads = [&["service"][..], of_time, of_network, &rest].concat();
    let rows = names.into_iter().map(|(name, sum)| {
        let of_load = |load: &&Traced<'_>| Sum::of(load.traces, name);
        let share = |of: Sum| percent(of.whole_ns, of.root_ns);
        let network = |of: Sum| percent(of.network_ns, of.whole_ns);
        let mut row = vec![name.clone()];
        row.extend(ends.iter().map(of_load).map(share));
        row.extend(ends.iter().map(of_load).map(network));
        row.extend([
            each(sum.queue_ns, sum.requests),
            each(sum.application_ns, sum.requests),
            number::or_none(over(sum.calls, sum.requests), number::three),
            each(sum.busy_ns, sum.calls),
            each(sum.cpu_ns, sum.calls),
            number::or_none(cpu_share(high.trial, name), number::percent),
        ]);
        row
    });
    let loads = match ends {
        [low, high] => format!("low is {}, high is {}", low.label, high.label),
        _ => format!("at {}", high.label),
    };
    let title = format!(
        "Each service and store over all traced operations ({loads}): its share of the generator’s time on the critical path; the part of its own \
         time that is transit and queue; at the higher load queue, own code and calls of a request, how long a call occupies a thread and the \
         processor, and its share of the processor time of all"
    );
    table(&title, 1, &heads, &rows.collect::<Vec<_>>())
}

/// A service over all operations of a load.
#[derive(Clone, Copy, Default)]
struct Sum {
    requests: u64,
    root_ns: u64,
    whole_ns: u64,
    network_ns: u64,
    queue_ns: u64,
    application_ns: u64,
    calls: u64,
    busy_ns: u64,
    cpu_ns: u64,
}

impl Sum {
    fn of(traces: &Traces, name: &str) -> Sum {
        let mut sum = Sum::default();
        for operation in &traces.operations {
            sum.requests += operation.all.requests;
            sum.root_ns += operation.all.root_ns;
            for service in operation.services.iter().filter(|service| service.name == name) {
                sum.whole_ns += service.ns(Among::All, |_| true);
                sum.network_ns += service.ns(Among::All, Part::is_network);
                sum.queue_ns += service.ns(Among::All, |part| part == Part::Queue);
                sum.application_ns += service.ns(Among::All, |part| part == Part::Application);
                sum.calls += service.calls;
                sum.busy_ns += service.busy_ns;
                sum.cpu_ns += service.cpu_ns;
            }
        }
        sum
    }
}

fn over(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn percent(part: u64, whole: u64) -> String {
    number::or_none(over(part, whole), number::percent)
}

/// The mean of `ns` over `of`, in words. Units: of the sum ns.
fn each(ns: u64, of: u64) -> String {
    number::micros(over(ns, of).filter(|mean| *mean > 0.0).map(|mean| mean / 1e3))
}

/// The share of a service in the processor time of all services in the window, traced or not; for results without
/// window times, over the whole trial.
fn cpu_share(trial: &Trial, name: &str) -> Option<f64> {
    let windows = trial.services.iter().all(|service| service.window_cpu_s.is_some());
    let time = |service: &ServiceUsage| if windows { service.window_cpu_s } else { service.cpu_s };
    let all: f64 = trial.services.iter().filter_map(time).sum();
    let own = trial.services.iter().find(|service| service.name == name).and_then(time)?;
    (all > 0.0).then(|| own / all)
}

/// The sum of the parts of each operation's requests, and the figures from spans alone, compared with the generator's
/// figures of the same requests, and of all.
pub(super) fn agreement(loads: &[&Traced<'_>]) -> Markup {
    fn ratio(of: Option<f64>, to: Option<f64>) -> String {
        number::or_none(of.zip(to), |(of, to)| number::percent_of_all(of / to))
    }
    let nothing = &LatencySummary::default();
    let rows = loads.iter().flat_map(|load| {
        load.operations().map(move |operation| {
            let of_all = load.trial.operations.iter().find(|one| one.name == operation.name);
            (*load, operation, of_all.map_or(nothing, |one| &one.response_time))
        })
    });
    let columns: &[Column<(&Traced<'_>, &TracedOperation, &LatencySummary)>] = &[
        ("load", |(load, ..)| load.label.clone()),
        ("operation", |(_, of, _)| of.name.clone()),
        ("joined", |(_, of, _)| number::count(of.all.requests)),
        ("parts p50", |(_, of, _)| number::micros(of.root.p50_us)),
        ("p99", |(_, of, _)| number::micros(of.root.p99_us)),
        ("generator p50", |(_, of, _)| number::micros(of.response_time.p50_us)),
        ("p99", |(_, of, _)| number::micros(of.response_time.p99_us)),
        ("ratio p50", |(_, of, _)| ratio(of.root.p50_us, of.response_time.p50_us)),
        ("p99", |(_, of, _)| ratio(of.root.p99_us, of.response_time.p99_us)),
        ("all requests", |(.., all)| number::count(all.count)),
        ("p50", |(.., all)| number::micros(all.p50_us)),
        ("p99", |(.., all)| number::micros(all.p99_us)),
        ("ratio p50", |(_, of, all)| ratio(of.root.p50_us, all.p50_us)),
        ("p99", |(_, of, all)| ratio(of.root.p99_us, all.p99_us)),
        ("spans p50", |(_, of, _)| number::micros(of.tracer.p50_us)),
        ("p99", |(_, of, _)| number::micros(of.tracer.p99_us)),
        ("ratio p50", |(_, of, _)| ratio(of.tracer.p50_us, of.response_time.p50_us)),
        ("p99", |(_, of, _)| ratio(of.tracer.p99_us, of.response_time.p99_us)),
    ];
    let title = "What the parts of a request sum to, against the generator’s response time of the same requests and of all; and what spans \
                 alone say, from the first stamp at the entrance to the last, against that of the same: the rest is the front and the wait \
                 before sending";
    table_of(title, 2, rows, columns)
}

pub(super) fn coverage(loads: &[&Traced<'_>]) -> Markup {
    let columns: &[Column<&Traced<'_>>] = &[
        ("load", |load| load.label.clone()),
        ("traced", |load| format!("1 in {}", number::count(load.traces.one_in))),
        ("answered", |load| number::count(load.traces.coverage.sampled)),
        ("joined", |load| number::count(load.traces.coverage.joined)),
        ("whole", |load| number::count(load.traces.coverage.whole)),
        ("failed", |load| number::count(load.traces.coverage.failed)),
        ("spans written", |load| number::count(load.traces.coverage.spans_expected)),
        ("found", |load| number::count(load.traces.coverage.spans_found)),
        ("broken", |load| number::count(load.traces.coverage.spans_broken)),
    ];
    let title = "Coverage: traced requests of the window, those whose spans were joined and lack none; spans of the whole trial";
    table_of(title, 2, loads.iter().copied(), columns)
}

/// What tracing cost.
pub(super) fn cost(loads: &[&Traced<'_>]) -> Markup {
    let rows = loads.iter().flat_map(|load| load.traces.cost.iter().map(move |cost| (*load, cost)));
    let columns: &[Column<(&Traced<'_>, &TracingCost)>] = &[
        ("load", |(load, _)| load.label.clone()),
        ("operation", |(_, cost)| cost.operation.clone()),
        ("traced", |(_, cost)| number::count(cost.traced.count)),
        ("others", |(_, cost)| number::count(cost.untraced.count)),
        ("mean", |(_, cost)| number::or_none(cost.mean, difference_words)),
        ("p50", |(_, cost)| number::or_none(cost.p50, difference_words)),
        ("p99", |(_, cost)| number::or_none(cost.p99, difference_words)),
        ("p99, of the others’", |(_, cost)| {
            number::or_none(cost.p99.zip(cost.untraced.p99_us), |(difference, without)| {
                let [low, high] =
                    [difference.low_us, difference.high_us].map(|us| signed_percent(us / without));
                format!("{low} to {high}")
            })
        }),
    ];
    let title = "What tracing cost: traced requests against the others of the same trial, which the generator drew by lot, with 95 % intervals";
    table_of(title, 2, rows, columns)
}

fn signed_percent(share: f64) -> String {
    format!("{}{}", if share < 0.0 { '−' } else { '+' }, number::percent(share.abs()))
}

/// The calls between services and to stores, folded away.
pub(super) fn edges(load: &Traced<'_>) -> Markup {
    let columns: &[Column<&EdgeTimes>] = &[
        ("caller", |edge| edge.caller.clone()),
        ("callee", |edge| edge.callee.clone()),
        ("method", |edge| edge.method.clone()),
        ("calls", |edge| number::count(edge.calls)),
        ("errors", |edge| number::count(edge.errors)),
        ("p50", |edge| number::micros(edge.wall.p50_us)),
        ("p95", |edge| number::micros(edge.wall.p95_us)),
        ("p99", |edge| number::micros(edge.wall.p99_us)),
        ("queue", |edge| p50_to_p99(&edge.queue)),
        ("own code", |edge| p50_to_p99(&edge.application)),
        ("transit", |edge| p50_to_p99(&edge.transit)),
        ("all calls", |edge| number::or_none(edge.all_calls.as_ref(), |all| number::count(all.calls))),
        ("errors", |edge| number::or_none(edge.all_calls.as_ref(), |all| number::count(all.errors))),
        ("mean", |edge| number::micros(edge.all_calls.as_ref().and_then(|all| all.wall.mean_us))),
    ];
    let title = format!(
        "Calls of traced requests at {}, as callers see them; queue, own code and transit from p50 to p99; on the right what callers counted \
         of all calls",
        load.label
    );
    let edges = &load.traces.edges;
    html! {
        @if !edges.is_empty() {
            details {
                summary { "Calls at " (load.label) " (" (edges.len()) ")" }
                (table_of(&title, 3, edges, columns))
            }
        }
    }
}
