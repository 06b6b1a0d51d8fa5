use maud::{Markup, html};
use results::{Among, LatencySummary, Part, ServiceTime, ServiceUsage, TracedOperation, Traces, Trial};

use super::Traced;
use super::words::difference_words;
use crate::{number, page};

/// Calls and times of each service of a subject, sorted by the time at the highest load, the longest first. `ends` are
/// its lowest and its highest load, or one.
pub(super) fn services(ends: &[&Traced<'_>]) -> Markup {
    let Some(high) = ends.last() else { return html! {} };
    let mut names: Vec<(&str, Sum)> = Vec::new();
    for service in ends.iter().flat_map(|load| &load.traces.operations).flat_map(|one| &one.services) {
        if !names.iter().any(|(name, _)| *name == service.name) {
            names.push((&service.name, Sum::of(high.traces, &service.name)));
        }
    }
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
        let mut row = vec![name.to_owned()];
        row.extend(ends.iter().map(of_load).map(share));
        row.extend(ends.iter().map(of_load).map(network));
        row.extend([
            each(sum.queue_ns, sum.requests),
            each(sum.application_ns, sum.requests),
            if sum.requests > 0 {
                number::three(sum.calls as f64 / sum.requests as f64)
            } else {
                number::NONE.into()
            },
            each(sum.busy_ns, sum.calls),
            each(sum.cpu_ns, sum.calls),
            number::or_none(cpu_share(high.trial, name), number::percent),
        ]);
        row
    });
    let loads: Vec<String> = ends
        .iter()
        .zip(["low", "high"])
        .map(
            |(load, name)| {
                if several { format!("{name} is {}", load.label) } else { format!("at {}", load.label) }
            },
        )
        .collect();
    let title = format!(
        "Each service and store over all traced operations ({}): its share of the generator’s time on the critical path; the part of its own \
         time that is transit and queue; at the higher load queue, own code and calls of a request, how long a call occupies a thread and the \
         processor, and its share of the processor time of all",
        loads.join(", ")
    );
    html! { @if let Some(table) = page::table(&title, &heads, 1, rows.collect()) { (table) } }
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
                sum.add(service);
            }
        }
        sum
    }

    fn add(&mut self, service: &ServiceTime) {
        self.whole_ns += service.ns(Among::All, |_| true);
        self.network_ns += service.ns(Among::All, Part::is_network);
        self.queue_ns += service.ns(Among::All, |part| part == Part::Queue);
        self.application_ns += service.ns(Among::All, |part| part == Part::Application);
        self.calls += service.calls;
        self.busy_ns += service.busy_ns;
        self.cpu_ns += service.cpu_ns;
    }
}

fn percent(part: u64, whole: u64) -> String {
    if whole > 0 { number::percent(part as f64 / whole as f64) } else { number::NONE.into() }
}

/// The mean of `ns` over `of`, in words. Units: of the sum ns.
fn each(ns: u64, of: u64) -> String {
    number::micros((of > 0 && ns > 0).then(|| ns as f64 / of as f64 / 1e3))
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
    let rows = loads.iter().flat_map(|load| {
        load.operations().map(move |operation| {
            let nothing = LatencySummary::default();
            let of_all = load.trial.operations.iter().find(|one| one.name == operation.name);
            let of_all = of_all.map_or(&nothing, |one| &one.response_time);
            let TracedOperation { root, tracer, response_time: same, .. } = operation;
            let figures = |of: &LatencySummary| [of.p50_us, of.p99_us];
            let ratios = |of: &LatencySummary, to: &LatencySummary| {
                let both = [of.p50_us.zip(to.p50_us), of.p99_us.zip(to.p99_us)];
                both.map(|both| number::or_none(both, |(of, to)| number::percent_of_all(of / to)))
            };
            let mut row =
                vec![load.label.clone(), operation.name.clone(), number::count(operation.all.requests)];
            row.extend(figures(root).map(number::micros));
            row.extend(figures(same).map(number::micros));
            row.extend(ratios(root, same));
            row.push(number::count(of_all.count));
            row.extend(figures(of_all).map(number::micros));
            row.extend(ratios(root, of_all));
            row.extend(figures(tracer).map(number::micros));
            row.extend(ratios(tracer, same));
            row
        })
    });
    let heads = [
        "load",
        "operation",
        "joined",
        "parts p50",
        "p99",
        "generator p50",
        "p99",
        "ratio p50",
        "p99",
        "all requests",
        "p50",
        "p99",
        "ratio p50",
        "p99",
        "spans p50",
        "p99",
        "ratio p50",
        "p99",
    ];
    let title = "What the parts of a request sum to, against the generator’s response time of the same requests and of all; and what spans \
                 alone say, from the first stamp at the entrance to the last, against that of the same: the rest is the front and the wait \
                 before sending";
    html! { @if let Some(table) = page::table(title, &heads, 2, rows.collect()) { (table) } }
}

pub(super) fn coverage(loads: &[&Traced<'_>]) -> Markup {
    let rows = loads.iter().map(|load| {
        let of = &load.traces.coverage;
        let counts =
            [of.sampled, of.joined, of.whole, of.failed, of.spans_expected, of.spans_found, of.spans_broken];
        let mut row = vec![load.label.clone(), format!("1 in {}", number::count(load.traces.one_in))];
        row.extend(counts.map(number::count));
        row
    });
    let heads =
        ["load", "traced", "answered", "joined", "whole", "failed", "spans written", "found", "broken"];
    let title = "Coverage: traced requests of the window, those whose spans were joined and lack none; spans of the whole trial";
    html! { @if let Some(table) = page::table(title, &heads, 2, rows.collect()) { (table) } }
}

/// What tracing cost.
pub(super) fn cost(loads: &[&Traced<'_>]) -> Markup {
    let rows = loads.iter().flat_map(|load| {
        load.traces.cost.iter().map(move |cost| {
            let words =
                |difference: Option<results::Difference>| number::or_none(difference, difference_words);
            let share = cost.p99.zip(cost.untraced.p99_us).map(|(difference, without)| {
                format!(
                    "{} to {}",
                    signed_percent(difference.low_us / without),
                    signed_percent(difference.high_us / without)
                )
            });
            vec![
                load.label.clone(),
                cost.operation.clone(),
                number::count(cost.traced.count),
                number::count(cost.untraced.count),
                words(cost.mean),
                words(cost.p50),
                words(cost.p99),
                share.unwrap_or_else(|| number::NONE.into()),
            ]
        })
    });
    let heads = ["load", "operation", "traced", "others", "mean", "p50", "p99", "p99, of the others’"];
    let title = "What tracing cost: traced requests against the others of the same trial, which the generator drew by lot, with 95 % intervals";
    html! { @if let Some(table) = page::table(title, &heads, 2, rows.collect()) { (table) } }
}

fn signed_percent(share: f64) -> String {
    if share < 0.0 {
        format!("−{}", number::percent(-share))
    } else {
        format!("+{}", number::percent(share))
    }
}

/// The calls between services and to stores, folded away.
pub(super) fn edges(load: &Traced<'_>) -> Markup {
    let rows = load.traces.edges.iter().map(|edge| {
        let pair = |of: &LatencySummary| match (of.p50_us, of.p99_us.or(of.p95_us)) {
            (Some(low), Some(high)) => number::micros_range(low, high),
            (low, _) => number::micros(low.or(of.mean_us)),
        };
        let all = edge.all_calls.as_ref();
        vec![
            edge.caller.clone(),
            edge.callee.clone(),
            edge.method.clone(),
            number::count(edge.calls),
            number::count(edge.errors),
            number::micros(edge.wall.p50_us),
            number::micros(edge.wall.p95_us),
            number::micros(edge.wall.p99_us),
            pair(&edge.queue),
            pair(&edge.application),
            pair(&edge.transit),
            number::or_none(all, |all| number::count(all.calls)),
            number::or_none(all, |all| number::count(all.errors)),
            number::or_none(all, |all| number::micros(all.wall.mean_us)),
        ]
    });
    let heads = [
        "caller",
        "callee",
        "method",
        "calls",
        "errors",
        "p50",
        "p95",
        "p99",
        "queue",
        "own code",
        "transit",
        "all calls",
        "errors",
        "mean",
    ];
    let title = format!(
        "Calls of traced requests at {}, as callers see them; queue, own code and transit from p50 to p99; on the right what callers counted \
         of all calls",
        load.label
    );
    let count = load.traces.edges.len();
    html! {
        @if let Some(table) = page::table(&title, &heads, 3, rows.collect()) {
            details { summary { "Calls at " (load.label) " (" (count) ")" } (table) }
        }
    }
}
